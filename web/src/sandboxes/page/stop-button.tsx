import { useMutation, useQueryClient } from "@tanstack/react-query";
import { OctagonX } from "lucide-react";
import { useState } from "react";
import { answer, api, Refusal, type Sandbox } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";

/** Stop a sandbox, once asked again. */
export function StopButton({ sandbox }: { sandbox: Sandbox }) {
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const stop = useMutation({
    mutationFn: () => answer(api.DELETE("/api/v1/sandboxes/{sandbox_id}", { params: { path: { sandbox_id: sandbox.id } } })),
    onSuccess: () => {
      setAsking(false);
      void queries.invalidateQueries({ queryKey: ["sandbox", sandbox.id] });
    },
  });
  if (sandbox.status !== "creating" && sandbox.status !== "running") return null;
  return (
    <>
      <Button variant="danger" size="small" onClick={() => setAsking(true)}>
        <OctagonX /> Stop
      </Button>
      <Dialog open={isAsking} onOpenChange={setAsking} title="Stop this sandbox?">
        <p>
          The agent is stopped, its conversation and its uncommitted work are saved, and its task fails until someone tries it again.
          Messages that it has not read are not delivered.
        </p>
        {stop.isError ? (
          <p role="alert" className="mt-3 text-bad">
            {stop.error instanceof Refusal ? stop.error.message : "The server does not answer; try again in a moment."}
          </p>
        ) : null}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={() => setAsking(false)}>Let it work</Button>
          <Button variant="danger" disabled={stop.isPending} onClick={() => stop.mutate()}>
            {stop.isPending ? "Stopping…" : "Stop it"}
          </Button>
        </div>
      </Dialog>
    </>
  );
}
