import type { Sandbox, Ticket } from "@/api/client";
import type { components } from "@/api/schema";
import type { Tone } from "@/ui/badge";

export type Outcome = components["schemas"]["Outcome"];

/** How a status is shown. */
export interface StatusStyle {
  tone: Tone;
  label: string;
}

/** The colour and label of each outcome. The server decides the outcome itself. */
export const OUTCOME_STYLES: Record<Outcome, StatusStyle> = {
  open: { tone: "neutral", label: "Open" },
  in_progress: { tone: "info", label: "In progress" },
  verified: { tone: "good", label: "Verified" },
  unchecked: { tone: "neutral", label: "Unchecked" },
  failed: { tone: "bad", label: "Failed" },
  no_result: { tone: "warn", label: "Ended without a result" },
};

/** The outcomes of ended work, best first. */
export const FINAL = ["verified", "unchecked", "failed", "no_result"] as const satisfies readonly Outcome[];

/** Return a value from the stream or an event as an outcome; null if it is none. */
export function outcomeIn(value: unknown): Outcome | null {
  return typeof value === "string" && Object.hasOwn(OUTCOME_STYLES, value) ? (value as Outcome) : null;
}

/**
 * Return the verdict of a `task.verified` event. Events without a `verdict` field are `unchecked` if they have no
 * checks.
 */
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

/** Return the style of a sandbox: its status while it runs, its outcome afterwards. */
export function sandboxStyle({ status, outcome }: Pick<Sandbox, "status" | "outcome">): StatusStyle {
  const alive = ALIVE[status];
  if (alive !== undefined) return alive;
  return outcome === "in_progress" ? { tone: "info", label: "Checking result" } : OUTCOME_STYLES[outcome];
}

/** Return why a sandbox ended, unless its outcome already says it. */
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

/** Return the style of a ticket: its status in the colour of its outcome. A finished ticket also shows its outcome. */
export function ticketStyle({ status, outcome }: Pick<Ticket, "status" | "outcome">): StatusStyle {
  const label = TICKET_LABELS[status];
  if (status === "failed") return OUTCOME_STYLES.failed;
  if (status !== "done") return { tone: OUTCOME_STYLES[outcome].tone, label };
  return { tone: OUTCOME_STYLES[outcome].tone, label: outcome === "in_progress" ? label : `${label}, ${OUTCOME_STYLES[outcome].label.toLowerCase()}` };
}
