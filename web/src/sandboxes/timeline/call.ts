import type { SandboxEvent } from "@/api/client";
import { plain } from "@/ui/text/ansi-text";
import { exitOf, flag, num, record, str, targetOf, textOf } from "../event-data";
import { toolError } from "../tool-error";
import type { Row } from "./grouping";

/** A tool call as its card shows it. */
export interface Call {
  tool: string;
  state: "running" | "done" | "failed";
  started: SandboxEvent | undefined;
  ended: SandboxEvent | undefined;
  edits: SandboxEvent[];
  /** The main argument, in one line. */
  title: string;
  durationMs: number | null;
  exitCode: number | null;
  /** The message of a failed call; empty for any other. */
  error: string;
  parent: string | null;
}

export function callOf(row: Row, upTo: number | null = null): Call {
  const events = upTo === null ? row.events : row.events.filter((event) => event.seq <= upTo);
  const find = (type: string) => events.find((event) => event.event_type === type);
  const started = find("agent.tool_use");
  const ended = find("agent.tool_completed") ?? find("agent.subagent_completed") ?? find("agent.user_tool_result");
  const edits = events.filter((event) => event.event_type === "agent.file_edited");
  const isFailed = flag(ended, "is_error");
  const exit = exitOf(isFailed ? outputOf(ended) : "", isFailed);
  return {
    tool: plain(str(started, "tool") ?? str(ended, "tool") ?? str(edits[0], "tool") ?? "tool"),
    state: ended === undefined ? (started === undefined ? "done" : "running") : isFailed ? "failed" : "done",
    started,
    ended,
    edits,
    title: plain(titleOf(started, edits)),
    durationMs: num(ended, "duration_ms"),
    exitCode: isFailed ? exit.code : null,
    error: isFailed ? plain(toolError(exit.rest)) : "",
    parent: str(events[0], "parent_tool_use_id"),
  };
}

function outputOf(ended: SandboxEvent | undefined): string {
  return textOf(ended?.event_data[ended.event_type === "agent.user_tool_result" ? "content" : "output"]);
}

function titleOf(started: SandboxEvent | undefined, edits: readonly SandboxEvent[]): string {
  const input = started?.event_data.input;
  const target = targetOf(input);
  if (target !== "") return oneLine(target);
  if (edits.length > 0) return edits.map((edit) => str(edit, "file_path")).join(", ");
  return oneLine(Object.entries(record(input)).map(([name, value]) => `${name}: ${textOf(value)}`).join(", "));
}

function oneLine(text: string): string {
  return text.slice(0, 400).replace(/\s+/g, " ").trim();
}

const LOOKS = new Set(["Read", "Glob", "Grep", "LS", "Bash"]);
const SMALL_OUTPUT = 4_000;

const judged = new WeakMap<Row, { revision: number; small: boolean }>();

/** Whether a call is minor: it read or ran something, succeeded, changed nothing and printed little. */
export function isSmall(row: Row): boolean {
  if (row.kind !== "call") return false;
  const before = judged.get(row);
  if (before?.revision === row.revision) return before.small;
  const small = judge(row);
  judged.set(row, { revision: row.revision, small });
  return small;
}

function judge(row: Row): boolean {
  const call = callOf(row);
  if (call.state !== "done" || call.started === undefined || call.edits.length > 0 || !LOOKS.has(call.tool)) return false;
  return call.tool === "Read" || (str(call.ended, "output") ?? "").length <= SMALL_OUTPUT;
}
