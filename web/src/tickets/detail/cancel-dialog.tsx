import { useMutation, useQueryClient } from "@tanstack/react-query";
import { answer, api, reason } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { notify } from "@/ui/notices";
import { sentence } from "@/ui/text/sentence";
import { refresh } from "../cache";

/** What is to be cancelled: one task, or all of a ticket that is open. */
export type Cancelled = { ticketId: string; title: string; taskId?: string };

async function cancel({ ticketId, taskId }: Cancelled): Promise<void> {
  if (taskId === undefined) {
    const params = { path: { ticket_id: ticketId } };
    await answer(api.PATCH("/api/v1/tickets/{ticket_id}", { params, body: { status: "cancelled" } as never }));
  } else {
    await answer(api.POST("/api/v1/tasks/{task_id}/cancel", { params: { path: { task_id: taskId } } }));
  }
}

/** Asks before anything is stopped for good. */
export function CancelDialog({ what, onClose }: { what: Cancelled; onClose: () => void }) {
  const queries = useQueryClient();
  const isTask = what.taskId !== undefined;
  const stop = useMutation({
    mutationFn: () => cancel(what),
    onSuccess: () => {
      notify(`${isTask ? "The task" : "The ticket"} “${what.title}” is cancelled.`);
      onClose();
      void refresh(queries, what.ticketId);
    },
  });
  return (
    <Dialog open onOpenChange={onClose} title={isTask ? "Cancel the task?" : "Cancel the ticket?"}>
      <div className="space-y-4">
        <p className="[overflow-wrap:anywhere]">
          <span className="font-medium">{what.title}</span>{" "}
          <span className="text-soft">
            is stopped for good, and its sandbox with it. What the agent has pushed stays on its branch.
          </span>
        </p>
        <p role="alert" className="text-sm text-bad">
          {stop.isError ? sentence(reason(stop.error)) : null}
        </p>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Keep it</Button>
          <Button variant="danger" disabled={stop.isPending} onClick={() => stop.mutate()}>
            {stop.isPending ? "Cancelling…" : isTask ? "Cancel the task" : "Cancel the ticket"}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
