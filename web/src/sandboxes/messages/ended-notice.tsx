import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { RotateCcw } from "lucide-react";
import type { FormEvent } from "react";
import { errorMessage, type Sandbox, type Task } from "@/api/client";
import { endReason } from "@/outcome/outcome";
import { show } from "@/shell/overlays";
import { Button } from "@/ui/button";
import { sentence } from "@/ui/text/sentence";
import { DraftBox, useDraft } from "./draft-box";
import { retryTask } from "./queries";

/** Why the sandbox accepts no messages, and what to do instead. */
export function Ended({ sandbox, task }: { sandbox: Sandbox; task: Task | undefined }) {
  const mayRetry = task?.status === "failed" && !isSuperseded(sandbox, task) && sandbox.status !== "stopping";
  return (
    <div className="space-y-2 px-3 py-2.5 text-xs text-soft">
      <p className="[overflow-wrap:anywhere]">
        {endText(sandbox)} <WayOn sandbox={sandbox} task={task} />
      </p>
      {mayRetry ? <Retry sandboxId={sandbox.id} taskId={task.id} /> : null}
    </div>
  );
}

/** Whether the task has a later attempt. */
function isSuperseded(sandbox: Sandbox, task: Task): boolean {
  return task.sandbox_id !== null && task.sandbox_id !== sandbox.id;
}

function endText(sandbox: Sandbox): string {
  const what = `This sandbox ${sandbox.status === "stopping" ? "is stopping" : "has ended"}`;
  const reason = sandbox.status === "stopping" ? sandbox.end_reason : endReason(sandbox);
  return reason === null ? `${what} and no longer accepts messages.` : `${sentence(`${what}: ${reason}`)} It no longer accepts messages.`;
}

function WayOn({ sandbox, task }: { sandbox: Sandbox; task: Task | undefined }) {
  if (task === undefined) return null;
  if (task.sandbox_id !== null && isSuperseded(sandbox, task)) {
    return (
      <Link to="/sandbox/$sandboxId" params={{ sandboxId: task.sandbox_id }} className="text-accent underline">
        Go to attempt {task.attempt}
      </Link>
    );
  }
  switch (task.status) {
    case "failed":
      return "The task failed. Retry it, with a message to the agent if you like.";
    case "completed":
      return (
        <>
          The task is completed. For more work,{" "}
          <button type="button" className="text-accent underline" onClick={() => show("new-ticket")}>
            create another ticket
          </button>
          .
        </>
      );
    case "verifying":
      return "The result is being verified.";
    case "cancelled":
      return "The task was cancelled.";
    default:
      return "The task is queued for its next attempt.";
  }
}

function Retry({ sandboxId, taskId }: { sandboxId: string; taskId: string }) {
  const queries = useQueryClient();
  const [text, write] = useDraft(sandboxId);
  const retry = useMutation({
    mutationFn: () => retryTask(taskId, text.trim()),
    onSuccess: () => {
      write("");
      void queries.invalidateQueries({ queryKey: ["task", taskId] });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!retry.isPending) retry.mutate();
  };
  return (
    <form onSubmit={submit} className="space-y-1.5">
      <DraftBox label="Message to the agent for the next attempt" placeholder="What should it do differently? (optional)" text={text} onWrite={write} />
      <div className="flex flex-wrap items-center justify-end gap-2">
        {retry.isError ? (
          <p role="alert" className="text-bad">
            {sentence(errorMessage(retry.error))}
          </p>
        ) : null}
        <Button type="submit" size="small" variant="primary" disabled={retry.isPending}>
          <RotateCcw /> {retry.isPending ? "Queueing…" : "Retry task"}
        </Button>
      </div>
    </form>
  );
}
