import type { SandboxEvent } from "@/api/client";

/** Event data comes from a sandbox and is untrusted: a field of the wrong type counts as missing. */

export function str(event: SandboxEvent | undefined, key: string): string | null {
  const value = event?.event_data[key];
  return typeof value === "string" && value !== "" ? value : null;
}

export function num(event: SandboxEvent | undefined, key: string): number | null {
  const value = event?.event_data[key];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function flag(event: SandboxEvent | undefined, key: string): boolean {
  return event?.event_data[key] === true;
}

export function list(event: SandboxEvent | undefined, key: string): unknown[] {
  const value = event?.event_data[key];
  return Array.isArray(value) ? value : [];
}

export function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** Return a value as text: strings as they are, anything else as JSON. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value, null, 2);
}

/** A field that may be truncated, and where the full value is. */
export interface Cut {
  text: string;
  isCut: boolean;
  /** The hash under which the full value can be fetched. */
  blob: string | null;
  /** The size of the full value, if known. */
  size: number | null;
}

export function cut(event: SandboxEvent | undefined, key: string): Cut {
  const text = textOf(event?.event_data[key]);
  if (!flag(event, `${key}_truncated`)) return { text, isCut: false, blob: null, size: null };
  const blob = str(event, `${key}_blob`);
  const isHash = blob !== null && /^[0-9a-f]{64}$/.test(blob);
  return { text, isCut: true, blob: isHash ? blob : null, size: num(event, `${key}_size`) };
}

/** Return the exit code of a command. The CLI starts the output of a failed command with it. */
export function exitOf(output: string, isError: boolean): { code: number | null; rest: string } {
  if (!isError) return { code: 0, rest: output };
  const exit = /^Exit code (\d{1,3})(?:\n|$)/.exec(output);
  return exit === null ? { code: null, rest: output } : { code: Number(exit[1]), rest: output.slice(exit[0].length) };
}

/** The agent's working folder; paths below it are shown relative to it. */
const WORKSPACE = "/workspace/";
const TARGETS = ["command", "file_path", "pattern", "description", "skill", "path", "url", "query", "prompt"];

/** Return the main argument of a tool call: the first field that is known to say most. */
export function targetOf(input: unknown): string {
  if (typeof input === "string") return input;
  const fields = record(input);
  const key = TARGETS.find((each) => typeof fields[each] === "string" && fields[each] !== "");
  const target = key === undefined ? "" : textOf(fields[key]);
  return target.startsWith(WORKSPACE) ? target.slice(WORKSPACE.length) : target;
}

/** Summarize event data in one line: short values as they are, arrays by their length. */
export function summary(event: SandboxEvent): string {
  const parts = Object.entries(event.event_data).map(([name, value]) => {
    if (Array.isArray(value)) return `${name}: ${value.length}`;
    return typeof value === "object" && value !== null ? `${name}: …` : `${name}: ${String(value)}`;
  });
  return parts.join(" · ");
}
