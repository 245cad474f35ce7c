import createClient, { type Middleware } from "openapi-fetch";
import type { components, paths } from "./schema";

type Schemas = components["schemas"];
export type Ticket = Schemas["TicketOut"];
export type TicketIn = Schemas["TicketIn"];
export type Task = Schemas["TaskOut"];
export type Sandbox = Schemas["SandboxOut"];
export type SandboxEvent = Schemas["EventOut"];
export type Message = Schemas["MessageOut"];
export type MessageIn = Schemas["MessageIn"];
export type Project = Schemas["ProjectOut"];

/** What the server said no to, in its own sentence. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.name = "Refusal";
    this.status = status;
  }
}

/** Told when the browser's session is no longer known. */
export const signedOut = new EventTarget();

const refusals: Middleware = {
  async onResponse({ response }) {
    if (response.ok) return;
    if (response.status === 401) signedOut.dispatchEvent(new Event("signed-out"));
    throw new Refusal(response.status, await sentence(response));
  },
};

async function sentence(response: Response): Promise<string> {
  const type = response.headers.get("content-type") ?? "";
  if (!type.includes("json")) return `the server answered ${response.status}; try again in a moment`;
  const problem: { detail?: unknown } = await response.json();
  return typeof problem.detail === "string" ? problem.detail : `the server answered ${response.status}`;
}

export const api = createClient<paths>({ baseUrl: "/" });
api.use(refusals);

/** The body of an answer; refusals have been thrown before. */
export async function answer<T>(call: Promise<{ data?: T }>): Promise<T> {
  const { data } = await call;
  return data as T;
}

/** An address of the API that answers with text, fetched whole. */
export async function fetchText(path: string, signal?: AbortSignal): Promise<string> {
  const response = await fetch(path, { signal });
  if (!response.ok) throw new Refusal(response.status, await sentence(response));
  return response.text();
}
