import { useMutation, useQueryClient } from "@tanstack/react-query";
import { OctagonX } from "lucide-react";
import { useEffect, useState } from "react";
import { unwrap, api, errorMessage, type Sandbox } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { sentence } from "@/ui/text/sentence";

/** Asks for confirmation before a sandbox is stopped. */
export function StopDialog({ sandbox, onClose }: { sandbox: Sandbox; onClose: () => void }) {
  const queries = useQueryClient();
  const stop = useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/v1/sandboxes/{sandbox_id}", { params: { path: { sandbox_id: sandbox.id } } })),
    onSuccess: () => {
      onClose();
      void queries.invalidateQueries({ queryKey: ["sandboxes"] });
      void queries.invalidateQueries({ queryKey: ["sandbox", sandbox.id] });
    },
  });
  return (
    <Dialog open onOpenChange={onClose} title="Stop this sandbox?" description={sandbox.id}>
      <p className="text-soft">
        The agent stops, and its conversation and uncommitted work are saved. If its task is not finished, the task fails and
        can be retried. Messages that the agent has not received are not delivered.
      </p>
      {stop.isError ? (
        <p role="alert" className="mt-3 text-bad">
          {sentence(errorMessage(stop.error))}
        </p>
      ) : null}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Keep running</Button>
        <Button variant="danger" disabled={stop.isPending} onClick={() => stop.mutate()}>
          {stop.isPending ? "Stopping…" : "Stop sandbox"}
        </Button>
      </div>
    </Dialog>
  );
}

/** A button that stops a sandbox after confirmation. */
export function StopButton({ sandbox }: { sandbox: Sandbox }) {
  const [asks, setAsks] = useState(false);
  const isAlive = sandbox.status === "creating" || sandbox.status === "running";
  useEffect(() => {
    // The button disappears when the sandbox ends; keep the focus on the page.
    if (!isAlive && document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
  }, [isAlive]);
  if (!isAlive) return null;
  return (
    <>
      <Button variant="danger" size="small" aria-label="Stop sandbox" title="Stop sandbox" onClick={() => setAsks(true)}>
        <OctagonX /> <span className="max-sm:hidden">Stop sandbox</span>
      </Button>
      {asks ? <StopDialog sandbox={sandbox} onClose={() => setAsks(false)} /> : null}
    </>
  );
}
