import { useMutation, useQueryClient } from "@tanstack/react-query";
import { answer, api, Refusal, type Sandbox } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";

/** Asks before a sandbox is stopped. */
export function StopDialog({ sandbox, onClose }: { sandbox: Sandbox | null; onClose: () => void }) {
  const queries = useQueryClient();
  const stop = useMutation({
    mutationFn: (id: string) => answer(api.DELETE("/api/v1/sandboxes/{sandbox_id}", { params: { path: { sandbox_id: id } } })),
    onSuccess: async () => {
      onClose();
      await queries.invalidateQueries({ queryKey: ["sandboxes"] });
    },
  });
  return (
    <Dialog
      open={sandbox !== null}
      onOpenChange={(open) => {
        if (open) return;
        stop.reset();
        onClose();
      }}
      title="Stop this sandbox?"
      description={sandbox?.id}
    >
      <p className="text-soft">
        The agent is stopped. Its work so far is saved: the conversation, and what is not committed goes to a branch of its own.
      </p>
      {stop.isError ? (
        <p role="alert" className="mt-2 text-bad">
          {stop.error instanceof Refusal ? stop.error.message : "the server does not answer; is it running?"}
        </p>
      ) : null}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Keep it</Button>
        <Button variant="danger" disabled={stop.isPending} onClick={() => sandbox && stop.mutate(sandbox.id)}>
          Stop it
        </Button>
      </div>
    </Dialog>
  );
}
