import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Sandbox, Task } from "@/api/client";
import { fetchCommand } from "@/projects/git-commands";
import { useProject } from "@/projects/queries";
import { Button, buttonStyle } from "@/ui/button";
import { cn } from "@/ui/cn";
import { ShellCommand } from "@/ui/shell-command";
import { cost, count } from "@/ui/text/numbers";
import { sentence } from "@/ui/text/sentence";
import { useNow } from "@/ui/time/time";
import { duration } from "@/ui/time/format";
import { Attempts } from "./attempts";
import { CancelDialog } from "./cancel-dialog";
import { TaskLink } from "./dependencies";
import { Evidence, BranchAndCommit } from "./evidence";
import { RetryDialog } from "./retry-dialog";
import { TaskStatus } from "../board/ticket-card";
import { isOpen } from "../task-status";
import { ChangedChecks, VerdictNote } from "./verdict-note";

/** One task: its status, results and attempts. */
export function TaskPanel({ task, sandbox, isOnly }: { task: Task; sandbox: Sandbox | undefined; isOnly: boolean }) {
  const [asks, setAsks] = useState<"retry" | "cancel" | null>(null);
  const close = () => setAsks(null);
  const dependencies = task.depends_on ?? [];
  return (
    <section id={task.id} aria-label={`Task ${task.title}`} className="space-y-3 rounded-lg border bg-surface p-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h3 className="min-w-0 text-sm font-semibold [overflow-wrap:anywhere]">{isOnly ? "Task" : task.title}</h3>
        <span className="text-xs text-soft">
          <TaskStatus task={task} sandbox={sandbox} />
        </span>
        <span className="ml-auto flex gap-1.5">
          {task.sandbox_id === null ? null : (
            <Link to="/sandbox/$sandboxId" params={{ sandboxId: task.sandbox_id }} className={buttonStyle({ size: "small" })}>
              {task.status === "running" ? "Watch the agent" : "Open sandbox"}
            </Link>
          )}
          {task.status === "failed" ? (
            <Button size="small" variant="primary" onClick={() => setAsks("retry")}>
              Retry task
            </Button>
          ) : null}
          {isOpen(task) && !isOnly ? (
            <Button size="small" variant="danger" onClick={() => setAsks("cancel")}>
              Cancel task
            </Button>
          ) : null}
        </span>
      </div>
      <Figures task={task} />
      <TaskError task={task} />
      <VerdictNote task={task} />
      <ChangedChecks paths={task.result?.changed_checks ?? []} />
      {dependencies.length === 0 ? null : (
        <div className="text-xs">
          <h4 className="text-faint">{task.status === "blocked" ? "Blocked by" : "Depends on"}</h4>
          <ul className="border-l-2 border-line-strong pl-2.5">
            {dependencies.map((taskId) => (
              <li key={taskId} className="min-w-0">
                <TaskLink taskId={taskId} />
              </li>
            ))}
          </ul>
        </div>
      )}
      <BranchAndCommit branch={task.branch_name} commit={task.result?.commit_sha} />
      <FetchBranch task={task} />
      {task.result === null ? null : <Evidence result={task.result} />}
      <div className="space-y-1">
        <h4 className="text-xs font-medium text-faint">Attempts</h4>
        <Attempts task={task} />
      </div>
      {asks === "retry" ? <RetryDialog task={task} onClose={close} /> : null}
      {asks === "cancel" ? (
        <CancelDialog what={{ ticketId: task.ticket_id, taskId: task.id, title: task.title }} onClose={close} />
      ) : null}
    </section>
  );
}

/** How to fetch the branch, which exists once the task has started. */
function FetchBranch({ task }: { task: Task }) {
  const project = useProject(task.project_id);
  if (project === undefined || task.branch_name === null || task.started_at === null) return null;
  return <ShellCommand command={fetchCommand(project, task.branch_name)} label="Copy fetch command" />;
}

/** Why the task failed; while it is retried, why the previous attempt did. */
function TaskError({ task }: { task: Task }) {
  if (task.error === null || task.status === "completed") return null;
  const isOver = task.status === "failed" || task.status === "cancelled";
  return (
    <p
      className={cn(
        "rounded-md px-2.5 py-1.5 text-sm [overflow-wrap:anywhere]",
        isOver ? "bg-bad-soft text-bad" : "bg-warn-soft text-warn",
      )}
    >
      {sentence(isOver ? task.error : `Previous attempt: ${task.error}`)}
    </p>
  );
}

function Figures({ task }: { task: Task }) {
  const now = useNow();
  const lasted = task.started_at === null ? null : elapsed(Date.parse(task.started_at), task.completed_at, now);
  return (
    <p className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-soft tabular-nums">
      <span>
        Attempt {task.attempt} of {task.max_attempts}
      </span>
      {lasted === null ? null : <span>{lasted}</span>}
      <span>{cost(task)}</span>
      <span>{count(task.tokens)} tokens</span>
    </p>
  );
}

/** Return how long a task took; of an open one, how long so far, in whole seconds. */
function elapsed(start: number, completedAt: string | null, now: number): string {
  return completedAt === null ? duration(Math.floor((now - start) / 1000) * 1000) : duration(Date.parse(completedAt) - start);
}
