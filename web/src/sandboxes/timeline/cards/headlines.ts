import type { SandboxEvent } from "@/api/client";
import { OUTCOME_STYLES, verdictOf, type Outcome } from "@/outcome/outcome";
import { flag, num, str } from "@/sandboxes/event-data";

/** The headlines of verdicts. */
const VERDICTS: Partial<Record<Outcome, string>> = {
  verified: `${OUTCOME_STYLES.verified.label}: all checks passed at the pushed commit`,
  unchecked: `${OUTCOME_STYLES.unchecked.label}: no check verified the result`,
  failed: `${OUTCOME_STYLES.failed.label}: a check did not pass`,
};

/** Return the headline of a milestone. */
export function headline(event: SandboxEvent): string {
  const round = `${num(event, "iteration") ?? "?"} of ${num(event, "max_iterations") ?? "?"}`;
  const phase = str(event, "phase") ?? "";
  const provider = str(event, "provider");
  switch (event.event_type) {
    case "sandbox.created":
      return `Sandbox requested for attempt ${num(event, "attempt") ?? 1}${provider === null ? "" : ` from provider ${provider}`}`;
    case "sandbox.started":
      return "Sandbox started";
    case "sandbox.terminated":
      return "Sandbox ended";
    case "sandbox.lost":
      return "Sandbox lost";
    case "agent.started":
      return ["Agent started", str(event, "model"), str(event, "branch_name")].filter(Boolean).join(" · ");
    case "agent.waiting":
      return "Agent is waiting for messages";
    case "agent.completed":
      return event.event_data.success === false ? "Agent ended without success" : "Agent reported completion";
    case "agent.failed":
      return "Agent failed";
    case "agent.shutdown":
      return "Worker was asked to stop";
    case "task.verified":
      return VERDICTS[verdictOf(event.event_data)] ?? "Checked";
    case "iteration.started":
      return `Iteration ${round}`;
    case "iteration.completed":
      return `Iteration ${round} completed`;
    case "iteration.failed":
      return `Iteration ${round} failed`;
    case "iteration.validation":
      return flag(event, "passed") ? `Iteration ${round}: checks passed` : `Iteration ${round}: checks failed`;
    default:
      return `${event.event_type.replace(/[._]/g, " ")} ${phase}`.trim();
  }
}

/** Whether the event reports a passed check. An agent's own claim does not count. */
export function isSuccess(event: SandboxEvent): boolean {
  if (event.event_type === "task.verified") return verdictOf(event.event_data) === "verified";
  return event.event_type === "iteration.validation" && flag(event, "passed");
}
