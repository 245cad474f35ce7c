import type { Sandbox, Task, Ticket } from "@/api/client";
import { OUTCOME_STYLES } from "@/outcome/outcome";
import type { Tone } from "@/ui/badge";
import { duration } from "@/ui/time/format";

/** How it stands with a task's agent, in words. */
export interface TaskDescription {
  label: string;
  tone: Tone;
  /** Something is going on right now. */
  isAtWork: boolean;
}

/** A worker beats every 30 s; after two and a half beats it counts as gone. */
const SILENT_MS = 75_000;
/** An agent that thinks this long is told apart from one that does something. */
const QUIET_MS = 120_000;

export function describeTask(task: Task, sandbox: Sandbox | undefined, now: number): TaskDescription {
  switch (task.status) {
    case "assigned":
      return { label: "Starting", tone: "info", isAtWork: true };
    case "running":
      return running(sandbox, now);
    case "verifying":
      return { label: "Verifying", tone: "info", isAtWork: true };
    case "pending":
      return { tone: OUTCOME_STYLES.open.tone, label: task.attempt > 1 ? "Queued for retry" : "Queued", isAtWork: false };
    case "blocked":
      return { tone: OUTCOME_STYLES.open.tone, label: "Blocked by another task", isAtWork: false };
    case "cancelled":
      return { ...OUTCOME_STYLES[task.outcome], label: "Cancelled", isAtWork: false };
    default:
      return { ...OUTCOME_STYLES[task.outcome], isAtWork: false };
  }
}

function running(sandbox: Sandbox | undefined, now: number): TaskDescription {
  const since = (moment: string | null | undefined) => (moment ? now - Date.parse(moment) : 0);
  const silent = Math.min(since(sandbox?.last_heartbeat_at), since(sandbox?.last_work_at ?? sandbox?.last_heartbeat_at));
  if (silent > SILENT_MS) return { label: `No heartbeat for ${minutes(silent)}`, tone: "bad", isAtWork: true };
  const quiet = since(sandbox?.last_work_at);
  if (quiet > QUIET_MS) return { label: `Idle for ${minutes(quiet)}`, tone: "warn", isAtWork: true };
  return { label: "Working", tone: "good", isAtWork: true };
}

function minutes(milliseconds: number): string {
  return duration(Math.floor(milliseconds / 60_000) * 60_000);
}

/** The task that tells most about a ticket: one that runs, then one that failed, then one that waits, then the last. */
export function leadingTask(ticket: Ticket): Task | undefined {
  const order: Task["status"][] = ["running", "verifying", "assigned", "failed", "pending", "blocked"];
  const tasks = ticket.tasks ?? [];
  for (const status of order) {
    const found = tasks.find((task) => task.status === status);
    if (found !== undefined) return found;
  }
  return tasks.at(-1);
}
