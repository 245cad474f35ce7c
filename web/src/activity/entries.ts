import type { SandboxEvent } from "@/api/client";
import type { Item } from "@/live/subscriptions";
import { changeOf, type Change } from "@/sandboxes/changes/changes";
import { flagOf, inputOf, textOf } from "@/sandboxes/read";

export const KINDS = ["edits", "tools", "messages", "runs", "states", "errors"] as const;
export type Kind = (typeof KINDS)[number];

/** One line of the feed. */
export interface Entry {
  key: string;
  kind: Kind;
  at: string;
  projectId: string;
  sandboxId: string | null;
  seq: number | null;
  ticketId: string | null;
  /** What happened, in a word or two. */
  what: string;
  /** To what, or what was said. */
  text: string;
  change: Change | null;
}

/** So many are kept; beyond that the oldest are let go, some at a time. */
export const MOST = 2_000;
const SPARE = 500;

const RUNS: Record<string, string> = {
  "sandbox.created": "Sandbox made",
  "agent.started": "Agent started",
  "agent.completed": "Agent completed",
  "agent.waiting": "Agent waits",
  "agent.interrupted": "Agent interrupted",
  "agent.shutdown": "Worker went",
  "task.verified": "Task verified",
  "sandbox.terminated": "Sandbox ended",
};
const ERRORS: Record<string, string> = {
  "agent.error": "Error",
  "agent.stream_error": "Stream error",
  "agent.failed": "Agent failed",
  "sandbox.lost": "Sandbox lost",
};

/** What an event is worth in the feed; null for what would only be noise there. */
export function ofEvent(event: SandboxEvent, projectId: string, sandboxId: string): Entry | null {
  const entry = (kind: Kind, what: string, text: string, change: Change | null = null): Entry => ({
    key: `${sandboxId}:${event.seq}`,
    kind,
    at: event.occurred_at,
    projectId,
    sandboxId,
    seq: event.seq,
    ticketId: null,
    what,
    text: text.slice(0, 600),
    change,
  });
  const type = event.event_type;
  if (type === "agent.file_edited") return entry("edits", "Changed", "", changeOf(event));
  if (type === "agent.tool_use") {
    const target = ["command", "file_path", "pattern", "description"].map((field) => inputOf(event, field)).find((value) => value !== null);
    return entry("tools", textOf(event, "tool") ?? "Tool", target ?? "");
  }
  if (type === "agent.tool_completed") {
    return flagOf(event, "is_error") ? entry("errors", `${textOf(event, "tool") ?? "Tool"} failed`, textOf(event, "output") ?? "") : null;
  }
  if (type === "agent.message") return entry("messages", "Agent", textOf(event, "text") ?? "");
  if (type === "agent.message_injected") return entry("messages", `To the agent (${textOf(event, "sender") ?? "someone"})`, textOf(event, "content") ?? "");
  const error = ERRORS[type];
  if (error !== undefined) return entry("errors", error, textOf(event, "error") ?? textOf(event, "reason") ?? "");
  const run = RUNS[type];
  return run === undefined ? null : entry("runs", run, textOf(event, "final_output") ?? textOf(event, "reason") ?? "");
}

interface Told {
  status?: unknown;
  ticket_id?: unknown;
  title?: unknown;
}

/** What an item of the stream is worth in the feed. */
export function ofItem(item: Item): Entry | null {
  if (item.type === "sandbox.event") {
    return item.sandbox_id === null ? null : ofEvent(item.data as SandboxEvent, item.project_id, item.sandbox_id);
  }
  const noun = /^(sandbox|task|ticket)\.status$/.exec(item.type)?.[1];
  if (noun === undefined) return null;
  const { status, ticket_id, title } = item.data as Told;
  if (typeof status !== "string") return null;
  return {
    key: item.id,
    kind: "states",
    at: item.timestamp,
    projectId: item.project_id,
    sandboxId: item.sandbox_id,
    seq: null,
    ticketId: typeof ticket_id === "string" ? ticket_id : null,
    what: `${noun === "sandbox" ? "Sandbox" : noun === "task" ? "Task" : "Ticket"} is ${status}`,
    text: typeof title === "string" ? title : "",
    change: null,
  };
}

/** Clocks may say the same of two events; their numbers do not. */
export function byTime(one: Entry, other: Entry): number {
  const isNumbered = one.sandboxId !== null && one.sandboxId === other.sandboxId && one.seq !== null && other.seq !== null;
  return Date.parse(one.at) - Date.parse(other.at) || (isNumbered ? Number(one.seq) - Number(other.seq) : 0);
}

/** The feed with more in it: each once, by time, and never more than a bounded number. */
export function merge(entries: readonly Entry[], more: readonly Entry[]): readonly Entry[] {
  const known = new Set(entries.map((entry) => entry.key));
  const fresh = more.filter((entry) => !known.has(entry.key) && known.add(entry.key));
  if (fresh.length === 0) return entries;
  const last = entries.at(-1)?.at ?? "";
  const isLater = fresh.every((entry, index) => entry.at >= (fresh[index - 1]?.at ?? last));
  const all = [...entries, ...fresh];
  const ordered = isLater ? all : all.toSorted(byTime);
  return ordered.length > MOST + SPARE ? ordered.slice(-MOST) : ordered;
}

export function kindsIn(text: string | undefined): ReadonlySet<Kind> {
  const asked = (text ?? "").split(",");
  const known = KINDS.filter((kind) => asked.includes(kind));
  return new Set(known.length === 0 ? KINDS : known);
}
