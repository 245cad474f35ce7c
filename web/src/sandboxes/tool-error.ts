import { record } from "./event-data";

/** The tag that the agent's CLI puts around its own errors. */
const TAG = /<\/?tool_use_error>/g;
const PREFIX = /^(?:Error: )+/;
const JSON_START = /[[{]/;

/**
 * Return the message of a failed tool call as a person would read it.
 *
 * Tags of the CLI are removed. Where the output is JSON, or a prefix followed by JSON, its messages replace it.
 */
export function toolError(output: string): string {
  const text = output.replace(TAG, "").trim().replace(PREFIX, "");
  const start = text.search(JSON_START);
  if (start === -1) return text;
  const messages = messagesIn(parsed(text.slice(start)));
  if (messages.length === 0) return text;
  return `${text.slice(0, start)}${messages.join("; ")}`.trim();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Return the messages in an error document: `message`, `error`, `detail` or `msg`, at any of the usual depths. */
function messagesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(messagesIn);
  const fields = record(value);
  for (const name of ["message", "error", "detail", "msg", "errors"]) {
    const found = fields[name];
    if (typeof found === "string" && found !== "") return [withPath(found, fields.path)];
    const nested = typeof found === "object" ? messagesIn(found) : [];
    if (nested.length > 0) return nested;
  }
  return [];
}

/** Validation errors name the field that they are about. */
function withPath(message: string, path: unknown): string {
  return Array.isArray(path) && path.length > 0 ? `${path.join(".")}: ${message}` : message;
}
