import type { SandboxEvent } from "@/api/client";
import { LOOKS, verdictOf, type Outcome } from "@/outcome/outcome";
import { flag, num, str } from "@/sandboxes/event-data";

/** What checking a result found. */
const VERDICTS: Partial<Record<Outcome, string>> = {
  verified: `${LOOKS.verified.words}: the checks pass at the pushed commit`,
  unchecked: `${LOOKS.unchecked.words}: no check has proved the result`,
  failed: `${LOOKS.failed.words}: the result did not pass`,
};

/** A milestone in a few words. */
export function headline(event: SandboxEvent): string {
  const round = `${num(event, "iteration") ?? "?"} of ${num(event, "max_iterations") ?? "?"}`;
  const phase = str(event, "phase") ?? "";
  switch (event.event_type) {
    case "sandbox.created":
      return `Sandbox ordered from ${str(event, "provider") ?? "its provider"}, attempt ${num(event, "attempt") ?? 1}`;
    case "sandbox.started":
      return "Sandbox started";
    case "sandbox.terminated":
      return "Sandbox ended";
    case "sandbox.lost":
      return "Sandbox lost";
    case "agent.started":
      return ["Agent started", str(event, "model"), str(event, "branch_name")].filter(Boolean).join(" · ");
    case "agent.waiting":
      return "Agent waits for messages";
    case "agent.completed":
      return event.event_data.success === false ? "Agent ended without success" : "Agent says that it is done";
    case "agent.failed":
      return "Agent failed";
    case "agent.shutdown":
      return "Worker was told to go";
    case "task.verified":
      return VERDICTS[verdictOf(event.event_data)] ?? "Checked";
    case "iteration.started":
      return `Round ${round}`;
    case "iteration.completed":
      return `Round ${round} is over`;
    case "iteration.failed":
      return `Round ${round} failed`;
    case "iteration.validation":
      return flag(event, "passed") ? `Round ${round}: the checks pass` : `Round ${round}: the checks fail`;
    default:
      return `${event.event_type.replace(/[._]/g, " ")} ${phase}`.trim();
  }
}

/** Whether something was found good; that an agent says so is not enough. */
export function isSuccess(event: SandboxEvent): boolean {
  if (event.event_type === "task.verified") return verdictOf(event.event_data) === "verified";
  return event.event_type === "iteration.validation" && flag(event, "passed");
}
