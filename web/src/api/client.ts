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

/** What the server said no to, in its own sentence. */
export class ApiError extends Error {
  readonly status: number;
  /** For bad input: what is wrong with each field, by its name. */
  readonly fields: Readonly<Record<string, string>>;

  constructor(status: number, detail: string, fields: Readonly<Record<string, string>> = {}) {
    super(detail);
    this.name = "Refusal";
    this.status = status;
    this.fields = fields;
  }
}

/** Why something failed, in one sentence, whatever was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof ApiError ? error.message : "the server is unreachable; check that it is running";
}

/** Told when the browser's session is no longer known. */
export const signedOut = new EventTarget();

const errorResponses: Middleware = {
  async onResponse({ response }) {
    noteServerTime(response.headers.get("date"));
    if (!response.ok) throw await toApiError(response);
  },
};

/** Agents' events stay as they are: who shows them takes colours from them and writes out the rest. */
const RAW = /\/(?:events|trajectory)$/;

/** In names, titles, messages and whatever else is answered nothing acts: no text is turned around, none hides. */
const readable: Middleware = {
  async onResponse({ response, schemaPath }) {
    const type = response.headers.get("content-type") ?? "";
    if (!type.includes("json") || RAW.test(schemaPath)) return;
    const { status, statusText, headers } = response;
    const said: unknown = JSON.parse(await response.text(), (_, value: unknown) =>
      typeof value === "string" ? escapeControls(value) : value,
    );
    const fresh = new Headers(headers);
    // It speaks of the bytes that came.
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
// The last one is the first to hear an answer.
api.use(errorResponses, readable);

/** The body of an answer; errorResponses have been thrown before. */
export async function unwrap<T>(call: Promise<{ data?: T }>): Promise<T> {
  const { data } = await call;
  return data as T;
}

/** An address of the API that answers with text, fetched whole. */
export async function fetchText(path: string, signal?: AbortSignal): Promise<string> {
  const response = await fetch(path, { signal });
  if (!response.ok) throw await toApiError(response);
  return response.text();
}

/** Ask whether the session still holds; who asked in vain is told by `signedOut`. A server that is away says nothing. */
export async function checkSession(): Promise<void> {
  await api.GET("/api/v1/auth/me").catch(() => undefined);
}

/** A name for one wish: the same wish sent twice is fulfilled once. `randomUUID` is missing on plain http. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
