import createClient, { type Middleware } from "openapi-fetch";
import { escapeControls } from "@/ui/text/control-characters";
import { noteServerTime } from "@/ui/time/server-clock";
import type { components, paths } from "./schema";

type Schemas = components["schemas"];
export type Ticket = Schemas["TicketOut"];
export type TicketIn = Schemas["TicketIn"];
export type Task = Schemas["TaskOut"];
export type Sandbox = Schemas["SandboxOut"];
export type SandboxEvent = Schemas["SandboxEvent"];
export type Message = Schemas["MessageOut"];
export type MessageIn = Schemas["MessageIn"];
export type Project = Schemas["ProjectOut"];

/** An error response of the API, with the server's own message. */
export class ApiError extends Error {
  readonly status: number;
  /** For invalid input: the message for each field, by field name. */
  readonly fields: Readonly<Record<string, string>>;

  constructor(status: number, detail: string, fields: Readonly<Record<string, string>> = {}) {
    super(detail);
    this.name = "ApiError";
    this.status = status;
    this.fields = fields;
  }
}

/** Return why something failed in one sentence, whatever was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof ApiError ? error.message : "the server is unreachable; check that it is running";
}

/** Dispatches `signed-out` when the server no longer knows the browser's session. */
export const signedOut = new EventTarget();

const errorResponses: Middleware = {
  async onResponse({ response }) {
    noteServerTime(response.headers.get("date"));
    if (!response.ok) throw await toApiError(response);
  },
};

/** Events are left as they are: the components that show them interpret colours and escape the rest. */
const RAW = /\/(?:events|trajectory)$/;

/** Escape control characters in every other response, so that no name, title or message can hide or reorder text. */
const readable: Middleware = {
  async onResponse({ response, schemaPath }) {
    const type = response.headers.get("content-type") ?? "";
    if (!type.includes("json") || response.status === 204 || RAW.test(schemaPath)) return;
    const { status, statusText, headers } = response;
    const said: unknown = JSON.parse(await response.text(), (_, value: unknown) =>
      typeof value === "string" ? escapeControls(value) : value,
    );
    const fresh = new Headers(headers);
    // The length describes the original bytes.
    fresh.delete("content-length");
    return new Response(JSON.stringify(said), { status, statusText, headers: fresh });
  },
};

interface Problem {
  detail?: unknown;
  errors?: { loc: (string | number)[]; msg: string }[] | null;
}

async function toApiError(response: Response): Promise<ApiError> {
  const { status } = response;
  if (status === 401) signedOut.dispatchEvent(new Event("signed-out"));
  const type = response.headers.get("content-type") ?? "";
  if (!type.includes("json")) return new ApiError(status, `the server responded with status ${status}; try again in a moment`);
  const { detail, errors }: Problem = await response.json();
  const fields = (errors ?? []).flatMap(({ loc, msg }) => (loc[1] === undefined ? [] : [[String(loc[1]), msg]]));
  return new ApiError(
    status,
    typeof detail === "string" ? detail : `the server responded with status ${status}`,
    Object.fromEntries(fields),
  );
}

export const api = createClient<paths>({ baseUrl: "/" });
// Middleware runs in reverse order for responses.
api.use(errorResponses, readable);

/** Return the body of a response. Error responses have already been thrown as `ApiError`. */
export async function unwrap<T>(call: Promise<{ data?: T }>): Promise<T> {
  const { data } = await call;
  return data as T;
}

/** Fetch the whole text of an API path that answers with plain text. */
export async function fetchText(path: string, signal?: AbortSignal): Promise<string> {
  const response = await fetch(path, { signal });
  if (!response.ok) throw await toApiError(response);
  return response.text();
}

/** Check that the session is still valid. `signedOut` fires if it is not; an unreachable server changes nothing. */
export async function checkSession(): Promise<void> {
  await api.GET("/api/v1/auth/me").catch(() => undefined);
}

/** Return a key for one request, so that sending it twice has one effect. `randomUUID` is missing on plain HTTP. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
