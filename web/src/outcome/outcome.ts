import type { Sandbox, Ticket } from "@/api/client";
import type { components } from "@/api/schema";
import type { Tone } from "@/ui/badge";

export type Outcome = components["schemas"]["Outcome"];

/** How something is shown: its colour and its words. */
export interface StatusStyle {
  tone: Tone;
  label: string;
}

/** The one place that decides how an outcome looks. The server decides the outcome itself. */
export const OUTCOME_STYLES: Record<Outcome, StatusStyle> = {
  open: { tone: "neutral", label: "Open" },
  in_progress: { tone: "info", label: "In progress" },
  verified: { tone: "good", label: "Verified" },
  unchecked: { tone: "neutral", label: "Unchecked" },
  failed: { tone: "bad", label: "Failed" },
  no_result: { tone: "warn", label: "Ended without a result" },
};

/** The outcomes of what has ended, the best first. */
export const FINAL = ["verified", "unchecked", "failed", "no_result"] as const satisfies readonly Outcome[];

/** Whatever the stream or an event carries; null if it is no outcome. */
export function outcomeIn(value: unknown): Outcome | null {
  return typeof value === "string" && Object.hasOwn(OUTCOME_STYLES, value) ? (value as Outcome) : null;
}

/** The verdict that a `task.verified` event carries. Events of earlier versions have none: there, `verified` without
 * a single check proved nothing. */
export function verdictOf(data: Readonly<Record<string, unknown>>): Outcome {
  const verdict = outcomeIn(data.verdict);
  if (verdict !== null) return verdict;
  if (data.verified !== true) return "failed";
  return Array.isArray(data.checks) && data.checks.length > 0 ? "verified" : "unchecked";
}

const ALIVE: Partial<Record<Sandbox["status"], StatusStyle>> = {
  creating: { tone: "info", label: "Creating" },
  running: { tone: "accent", label: "Running" },
  stopping: { tone: "warn", label: "Stopping" },
};

/** A sandbox while it lives by what it does, afterwards by what came of it. */
export function sandboxStyle({ status, outcome }: Pick<Sandbox, "status" | "outcome">): StatusStyle {
  const alive = ALIVE[status];
  if (alive !== undefined) return alive;
  return outcome === "in_progress" ? { tone: "info", label: "Checking result" } : OUTCOME_STYLES[outcome];
}

/** Why a sandbox ended, where its outcome does not say it: a worker that ended as it should says nothing about its work. */
export function endReason({ status, outcome, end_reason: reason }: Pick<Sandbox, "status" | "outcome" | "end_reason">): string | null {
  return status === "stopped" && outcome !== "no_result" ? null : reason;
}

const TICKET_LABELS: Record<Ticket["status"], string> = {
  backlog: "Backlog",
  analyzing: "Analyzing",
  building: "Building",
  testing: "Testing",
  done: "Done",
  blocked: "Blocked",
  failed: "Failed",
  cancelled: "Cancelled",
};

/** A ticket's status in the colour of its outcome; what is done says whether anything was proved. */
export function ticketStyle({ status, outcome }: Pick<Ticket, "status" | "outcome">): StatusStyle {
  const label = TICKET_LABELS[status];
  if (status !== "done") return { tone: OUTCOME_STYLES[outcome].tone, label };
  return { tone: OUTCOME_STYLES[outcome].tone, label: outcome === "in_progress" ? label : `${label}, ${OUTCOME_STYLES[outcome].label.toLowerCase()}` };
}
