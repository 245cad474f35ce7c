import { useMutation, useQueryClient } from "@tanstack/react-query";
import { HardDrive } from "lucide-react";
import { useState } from "react";
import { unwrap, api, errorMessage, type Sandbox } from "@/api/client";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Dialog } from "@/ui/dialog";
import { useNow } from "@/ui/time/time";
import { sentence } from "@/ui/text/sentence";
import { isUnsaved, salvageSentences } from "./salvage-text";

/** What happened to the uncommitted work of an ended sandbox, with actions. */
export function SalvageNote({ sandbox }: { sandbox: Sandbox }) {
  const { salvage } = sandbox;
  const now = useNow();
  const [asks, setAsks] = useState(false);
  const save = useSalvage(sandbox.id, "POST");
  if (salvage === null) return null;
  return (
    <div
      role="status"
      className={cn(
        "flex flex-wrap items-center gap-x-3 gap-y-1.5 border-b px-3 py-1.5 text-xs",
        salvage.state === "saved" ? "bg-sunken text-soft" : "border-warn/30 bg-warn-soft text-warn",
      )}
    >
      <HardDrive aria-hidden className="size-3.5 shrink-0" />
      <p className="min-w-0 flex-1 basis-64 [overflow-wrap:anywhere]">
        {salvageSentences(salvage, now).join(" ")}
        {save.isError ? ` ${sentence(errorMessage(save.error))}` : ""}
      </p>
      {isUnsaved(salvage) ? (
        <span className="flex gap-1.5">
          <Button size="small" disabled={save.isPending} onClick={() => save.mutate()}>
            Save work
          </Button>
          <Button size="small" variant="danger" onClick={() => setAsks(true)}>
            Discard work
          </Button>
        </span>
      ) : null}
      {asks ? <DropDialog sandbox={sandbox} onClose={() => setAsks(false)} /> : null}
    </div>
  );
}

function DropDialog({ sandbox, onClose }: { sandbox: Sandbox; onClose: () => void }) {
  const drop = useSalvage(sandbox.id, "DELETE", onClose);
  return (
    <Dialog open onOpenChange={onClose} title="Discard unsaved work?" description={sandbox.id}>
      <p className="text-soft">
        This deletes the sandbox's disk with everything that was not committed and pushed. This cannot be undone.
      </p>
      {drop.isError ? (
        <p role="alert" className="mt-3 text-bad">
          {sentence(errorMessage(drop.error))}
        </p>
      ) : null}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Keep work</Button>
        <Button variant="danger" disabled={drop.isPending} onClick={() => drop.mutate()}>
          {drop.isPending ? "Discarding…" : "Discard work"}
        </Button>
      </div>
    </Dialog>
  );
}

function useSalvage(sandboxId: string, method: "POST" | "DELETE", onDone?: () => void) {
  const queries = useQueryClient();
  const params = { path: { sandbox_id: sandboxId } };
  return useMutation({
    mutationFn: () =>
      unwrap(
        method === "POST"
          ? api.POST("/api/v1/sandboxes/{sandbox_id}/salvage", { params })
          : api.DELETE("/api/v1/sandboxes/{sandbox_id}/salvage", { params }),
      ),
    onSuccess: () => {
      onDone?.();
      void queries.invalidateQueries({ queryKey: ["sandboxes"] });
      void queries.invalidateQueries({ queryKey: ["sandbox", sandboxId] });
    },
  });
}
