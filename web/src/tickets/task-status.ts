import type { Sandbox, Task, Ticket } from "@/api/client";
import { LOOKS } from "@/outcome/outcome";
import type { Tone } from "@/ui/badge";
import { duration } from "@/ui/time/format";

/** How it stands with a task's agent, in words. */
export interface AgentState {
  words: string;
  tone: Tone;
  /** Something is going on right now. */
  isAtWork: boolean;
}

/** A worker beats every 30 s; after two and a half beats it counts as gone. */
const SILENT_MS = 75_000;
/** An agent that thinks this long is told apart from one that does something. */
const QUIET_MS = 120_000;

export function agentState(task: Task, sandbox: Sandbox | undefined, now: number): AgentState {
  switch (task.status) {
    case "assigned":
      return { words: "Starting", tone: "info", isAtWork: true };
    case "running":
      return running(sandbox, now);
    case "verifying":
      return { words: "Verifying", tone: "info", isAtWork: true };
    case "pending":
      return { tone: LOOKS.open.tone, words: task.attempt > 1 ? "Queued again" : "Queued", isAtWork: false };
    case "blocked":
      return { tone: LOOKS.open.tone, words: "Waits for another task", isAtWork: false };
    case "cancelled":
      return { ...LOOKS[task.outcome], words: "Cancelled", isAtWork: false };
    default:
      return { ...LOOKS[task.outcome], isAtWork: false };
  }
}

function running(sandbox: Sandbox | undefined, now: number): AgentState {
  const since = (moment: string | null | undefined) => (moment ? now - Date.parse(moment) : 0);
  const silent = Math.min(since(sandbox?.last_heartbeat_at), since(sandbox?.last_work_at ?? sandbox?.last_heartbeat_at));
  if (silent > SILENT_MS) return { words: `Silent for ${minutes(silent)}`, tone: "bad", isAtWork: true };
  const quiet = since(sandbox?.last_work_at);
  if (quiet > QUIET_MS) return { words: `Idle ${minutes(quiet)}`, tone: "warn", isAtWork: true };
  return { words: "Working", tone: "good", isAtWork: true };
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
