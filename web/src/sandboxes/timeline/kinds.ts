import type { SandboxEvent } from "@/api/client";
import { verdictOf } from "@/outcome/outcome";
import { flag } from "../event-data";

/** The kinds of events. Each is a bit, because a row can have several. */
export const KIND = {
  text: 1,
  thinking: 2,
  tool: 4,
  edit: 8,
  steer: 16,
  error: 32,
  milestone: 64,
  heartbeat: 128,
  other: 256,
} as const;
export type Kind = keyof typeof KIND;

export const KINDS = Object.keys(KIND) as Kind[];
export const ALL_KINDS = 511;

export const KIND_LABELS: Record<Kind, string> = {
  text: "Replies",
  thinking: "Thinking",
  tool: "Tools",
  edit: "Edits",
  steer: "Messages",
  error: "Errors",
  milestone: "Milestones",
  heartbeat: "Heartbeats",
  other: "Other",
};

// A map: an agent may choose an event name that every object has, such as `constructor`.
const BY_TYPE = new Map<string, Kind>(
  Object.entries({
    "agent.message": "text",
    "agent.thinking": "thinking",
    "agent.tool_use": "tool",
    "agent.tool_completed": "tool",
    "agent.user_tool_result": "tool",
    "agent.subagent_invoked": "tool",
    "agent.subagent_completed": "tool",
    "agent.skill_invoked": "tool",
    "agent.file_edited": "edit",
    "agent.message_injected": "steer",
    "agent.interrupted": "steer",
    "agent.error": "error",
    "agent.stream_error": "error",
    "agent.heartbeat": "heartbeat",
    "agent.started": "milestone",
    "agent.waiting": "milestone",
    "agent.completed": "milestone",
    "agent.failed": "milestone",
    "agent.shutdown": "milestone",
  } as const),
);

const MILESTONES = /^(sandbox|task|iteration|spec)\./;

export function kindOf(type: string): Kind {
  return BY_TYPE.get(type) ?? (MILESTONES.test(type) ? "milestone" : "other");
}

const FAILURES = new Set([
  "agent.error",
  "agent.stream_error",
  "agent.failed",
  "iteration.failed",
  "spec.phase_failed",
  "spec.execution_failed",
  "sandbox.lost",
]);

/** Whether an event reports a failure. */
export function isFailure(event: SandboxEvent): boolean {
  if (FAILURES.has(event.event_type)) return true;
  const { event_type: type, event_data: data } = event;
  if (type === "agent.tool_completed" || type === "agent.subagent_completed") return flag(event, "is_error");
  if (type === "agent.completed") return data.success === false;
  if (type === "task.verified") return verdictOf(data) === "failed";
  if (type === "iteration.validation") return data.passed === false;
  if (type === "agent.assistant_message") return typeof data.error === "string";
  return type === "sandbox.terminated" && data.status === "failed";
}

export function maskOf(event: SandboxEvent): number {
  return KIND[kindOf(event.event_type)] | (isFailure(event) ? KIND.error : 0);
}

/** Parse the kinds in an address; all kinds if it names none that is known. */
export function readKinds(text: string | undefined): number {
  const wanted = (text ?? "").split(",");
  const mask = KINDS.reduce((sum, kind) => (wanted.includes(kind) ? sum | KIND[kind] : sum), 0);
  return mask === 0 ? ALL_KINDS : mask;
}

export function writeKinds(mask: number): string | undefined {
  if (mask === ALL_KINDS || mask === 0) return undefined;
  return KINDS.filter((kind) => (mask & KIND[kind]) !== 0).join(",");
}

/** The event types that count for a kind, so that a call with its result counts once. */
const COUNTED: Partial<Record<Kind, readonly string[]>> = {
  tool: ["agent.tool_use"],
};

/** Count events by kind from the counts by type of the sandbox row. */
export function countKinds(counts: Iterable<[type: string, amount: number]>): Record<Kind, number> {
  const sums = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Record<Kind, number>;
  for (const [type, amount] of counts) {
    const kind = kindOf(type);
    if (COUNTED[kind]?.includes(type) ?? true) sums[kind] += amount;
    if (kind !== "error" && FAILURES.has(type)) sums.error += amount;
  }
  return sums;
}
