import type { SandboxEvent } from "@/api/client";
import type { Item } from "@/stream/subscriptions";
import { changeOf, type Change } from "@/sandboxes/changes/changes";
import { senderOf } from "@/sandboxes/messages/senders";
import { OUTCOME_STYLES, outcomeIn, verdictOf } from "@/outcome/outcome";
import { exitOf, str, targetOf } from "@/sandboxes/event-data";
import { toolError } from "@/sandboxes/tool-error";
import { plain } from "@/ui/text/ansi-text";
import type { Tone } from "@/ui/badge";

export const KINDS = ["edits", "tools", "messages", "lifecycle", "status", "errors"] as const;
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
  /** What happened, in one or two words. */
  what: string;
  /** The colour of an outcome, if it reports one; otherwise the colour of its kind is used. */
  tone: Tone | null;
  /** The target or the text. */
  text: string;
  change: Change | null;
  /** The tool call that it belongs to. */
  callId: string | null;
}

/** Entries that are kept. Beyond this the oldest are removed in batches of `SPARE`. */
export const MOST = 2_000;
const SPARE = 500;

/** Return the feed entry of an event; null for events that are not listed. */
export function ofEvent(event: SandboxEvent, projectId: string, sandboxId: string): Entry | null {
  const said = wordsOf(event);
  if (said === null) return null;
  const [kind, what, text] = said;
  return {
    key: `${sandboxId}:${event.seq}`,
    kind,
    at: event.occurred_at,
    projectId,
    sandboxId,
    seq: event.seq,
    ticketId: null,
    what,
    tone: event.event_type === "task.verified" ? OUTCOME_STYLES[verdictOf(event.event_data)].tone : null,
    text: plain((text ?? "").slice(0, 600)),
    change: changeOf(event),
    callId: str(event, "tool_use_id"),
  };
}

type Words = [kind: Kind, what: string, text?: string | null];

function wordsOf(event: SandboxEvent): Words | null {
  if (!event.known) return null;
  const { event_data: data } = event;
  const why = str(event, "error") ?? str(event, "reason");
  switch (event.event_type) {
    case "agent.file_edited":
      return ["edits", "File changed"];
    case "agent.tool_use":
      return ["tools", event.event_data.tool ?? "Tool", targetOf(data.input)];
    case "agent.tool_completed":
      return data.is_error === true ? ["errors", `${event.event_data.tool ?? "Tool"} failed`, failureOf(event.event_data.output ?? "")] : null;
    case "agent.message":
      return ["messages", "Agent", event.event_data.text];
    case "agent.message_injected":
      return ["messages", `${senderOf(event.event_data.sender ?? "", event.event_data.message_type ?? "").name} to the agent`, event.event_data.content];
    case "agent.error":
      return ["errors", "Error", why];
    case "agent.stream_error":
      return ["errors", "Stream error", why];
    case "agent.failed":
      return ["errors", "Agent failed", why];
    case "sandbox.lost":
      return ["errors", "Sandbox lost", why];
    case "sandbox.created":
      return ["lifecycle", "Sandbox created"];
    case "agent.started":
      return ["lifecycle", "Agent started"];
    case "agent.completed":
      return ["lifecycle", "Agent completed", str(event, "final_output")];
    case "agent.waiting":
      return ["lifecycle", "Agent is waiting"];
    case "agent.interrupted":
      return ["lifecycle", "Agent interrupted", why];
    case "task.verified":
      return [verdictOf(data) === "failed" ? "errors" : "lifecycle", `Result: ${OUTCOME_STYLES[verdictOf(data)].label.toLowerCase()}`, why];
    case "sandbox.terminated":
      return ["lifecycle", "Sandbox ended", why];
    default:
      return null;
  }
}

function failureOf(output: string): string {
  const { code, rest } = exitOf(output, true);
  const message = toolError(rest);
  if (code === null) return message;
  return message === "" ? `exit code ${code}` : `exit code ${code}: ${message}`;
}

/** Statuses that no event reports. All others would repeat one: `running` is the agent's start, for example. */
const REPORTED: Readonly<Record<string, readonly string[]>> = {
  "task.status": ["blocked", "failed", "cancelled"],
  "ticket.status": ["done"],
};

interface StatusData {
  status?: unknown;
  outcome?: unknown;
  ticket_id?: unknown;
  title?: unknown;
}

/** Return the feed entry of a stream item; null for items that are not listed. */
export function ofItem(item: Item): Entry | null {
  if (item.type === "sandbox.event") {
    return item.sandbox_id === null ? null : ofEvent(item.data as SandboxEvent, item.project_id, item.sandbox_id);
  }
  const { status, outcome, ticket_id, title } = item.data as StatusData;
  if (typeof status !== "string" || !REPORTED[item.type]?.includes(status)) return null;
  const found = outcomeIn(outcome);
  const look = found === null || found === "open" || found === "in_progress" ? null : OUTCOME_STYLES[found];
  return {
    key: item.id,
    kind: "status",
    at: item.timestamp,
    projectId: item.project_id,
    sandboxId: item.sandbox_id,
    seq: null,
    ticketId: typeof ticket_id === "string" ? ticket_id : null,
    what: `${item.type === "task.status" ? "Task" : "Ticket"} ${status}${look === null || look.label.toLowerCase() === status ? "" : `: ${look.label.toLowerCase()}`}`,
    tone: look?.tone ?? null,
    text: typeof title === "string" ? title : "",
    change: null,
    callId: null,
  };
}

const EDITORS = new Set(["Write", "Edit", "MultiEdit", "NotebookEdit"]);
/** Shorter texts may be equal by chance. */
const SHORTEST_REPEAT = 20;

/**
 * Return the entries with each fact once.
 *
 * A call that edits files is left out where the edits themselves are listed. An error that is reported by the agent's
 * reply, an error event and the end of the sandbox is listed once, as is a final reply that the completion repeats.
 */
export function distinct(entries: readonly Entry[]): Entry[] {
  const edited = new Set(entries.flatMap((entry) => (entry.change === null ? [] : [callOf(entry)])));
  const kept: (Entry | null)[] = [];
  const last = new Map<string, number>();
  for (const entry of entries) {
    if (entry.kind === "tools" && EDITORS.has(entry.what) && edited.has(callOf(entry))) continue;
    const sandbox = entry.sandboxId ?? "";
    const place = last.get(sandbox);
    const before = place === undefined ? null : kept[place];
    let shown = entry;
    if (place !== undefined && before && repeats(before.text, entry.text)) {
      if (entry.kind === "errors") kept[place] = null;
      else if (entry.kind === "lifecycle") shown = { ...entry, text: "" };
    }
    if (shown.text !== "") last.set(sandbox, kept.length);
    kept.push(shown);
  }
  return kept.filter((entry) => entry !== null);
}

function callOf({ sandboxId, callId }: Entry): string {
  return `${sandboxId} ${callId}`;
}

function repeats(before: string, text: string): boolean {
  if (text === "" || before === text) return text !== "";
  if (Math.min(before.length, text.length) < SHORTEST_REPEAT) return false;
  return before.includes(text) || text.includes(before);
}

/** Compare by time; two events of one sandbox with the same time by their numbers. */
export function byTime(one: Entry, other: Entry): number {
  const isNumbered = one.sandboxId !== null && one.sandboxId === other.sandboxId && one.seq !== null && other.seq !== null;
  return Date.parse(one.at) - Date.parse(other.at) || (isNumbered ? Number(one.seq) - Number(other.seq) : 0);
}

/** Return the feed with more entries: without duplicates, ordered by time, and bounded. */
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
