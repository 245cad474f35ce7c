import { useMutation, useQueryClient } from "@tanstack/react-query";
import { errorMessage } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { sentence } from "@/ui/text/sentence";
import { credentialsQuery, deleteCredential, type Credential } from "./queries";

/** Asks for confirmation before a credential is deleted. */
export function DeleteCredentialDialog({ credential, onClose }: { credential: Credential; onClose: () => void }) {
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => deleteCredential(credential.id),
    onSuccess: () => {
      onClose();
      void queries.invalidateQueries({ queryKey: credentialsQuery.queryKey });
      void queries.invalidateQueries({ queryKey: ["overview"] });
    },
  });
  return (
    <Dialog open onOpenChange={onClose} title="Delete this credential?" description={credential.name}>
      <p className="text-soft">
        It is not used again, in running tasks either. Revoke the key at its provider as well if somebody else may know it.
      </p>
      {remove.isError ? (
        <p role="alert" className="mt-3 text-bad">
          {sentence(errorMessage(remove.error))}
        </p>
      ) : null}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Keep credential</Button>
        <Button variant="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
          {remove.isPending ? "Deleting…" : "Delete credential"}
        </Button>
      </div>
    </Dialog>
  );
}
