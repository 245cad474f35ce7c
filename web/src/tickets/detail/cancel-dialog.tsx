import { useMutation, useQueryClient } from "@tanstack/react-query";
import { unwrap, api, errorMessage } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { notify } from "@/ui/notices";
import { sentence } from "@/ui/text/sentence";
import { refresh } from "../cache";

/** What to cancel: one task, or every open task of a ticket. */
export type Cancelled = { ticketId: string; title: string; taskId?: string };

async function cancel({ ticketId, taskId }: Cancelled): Promise<void> {
  if (taskId === undefined) {
    const params = { path: { ticket_id: ticketId } };
    await unwrap(api.PATCH("/api/v1/tickets/{ticket_id}", { params, body: { status: "cancelled" } as never }));
  } else {
    await unwrap(api.POST("/api/v1/tasks/{task_id}/cancel", { params: { path: { task_id: taskId } } }));
  }
}

/** Asks for confirmation before something is cancelled. */
export function CancelDialog({ what, onClose }: { what: Cancelled; onClose: () => void }) {
  const queries = useQueryClient();
  const isTask = what.taskId !== undefined;
  const stop = useMutation({
    mutationFn: () => cancel(what),
    onSuccess: () => {
      notify(`Cancelled ${isTask ? "task" : "ticket"} “${what.title}”.`);
      onClose();
      void refresh(queries, what.ticketId);
    },
  });
  return (
    <Dialog open onOpenChange={onClose} title={isTask ? "Cancel this task?" : "Cancel this ticket?"}>
      <div className="space-y-4">
        <p className="[overflow-wrap:anywhere]">
          <span className="font-medium">{what.title}</span>
        </p>
        <p className="text-soft">
          {isTask ? "If its sandbox is running, it is stopped." : "Open tasks are cancelled, and their sandboxes are stopped."} Commits that
          were pushed stay on the branch. This cannot be undone.
        </p>
        <p role="alert" className="text-sm text-bad">
          {stop.isError ? sentence(errorMessage(stop.error)) : null}
        </p>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{isTask ? "Keep task" : "Keep ticket"}</Button>
          <Button variant="danger" disabled={stop.isPending} onClick={() => stop.mutate()}>
            {stop.isPending ? "Cancelling…" : isTask ? "Cancel task" : "Cancel ticket"}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
