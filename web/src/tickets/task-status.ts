import type { Sandbox, Task, Ticket } from "@/api/client";
import { OUTCOME_STYLES } from "@/outcome/outcome";
import type { Tone } from "@/ui/badge";
import { duration } from "@/ui/time/format";

/** The status of a task, for display. */
export interface TaskDescription {
  label: string;
  tone: Tone;
  /** Whether work is in progress. */
  isAtWork: boolean;
}

/** Workers send a heartbeat every 30 s; after two and a half intervals one counts as gone. */
const SILENT_MS = 75_000;
/** Without activity for this long, an agent is shown as idle. */
const QUIET_MS = 120_000;

/** The states in which a task can be cancelled. */
const OPEN: readonly Task["status"][] = ["blocked", "pending", "assigned", "running", "verifying"];

export function isOpen(task: Task): boolean {
  return OPEN.includes(task.status);
}

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

/** Return the task that represents a ticket: a running one, then a failed, a waiting, or the last one. */
export function leadingTask(ticket: Ticket): Task | undefined {
  const order: Task["status"][] = ["running", "verifying", "assigned", "failed", "pending", "blocked"];
  const tasks = ticket.tasks ?? [];
  for (const status of order) {
    const found = tasks.find((task) => task.status === status);
    if (found !== undefined) return found;
  }
  return tasks.at(-1);
}
