import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { errorMessage } from "@/api/client";
import { Button } from "./button";
import { Dialog } from "./dialog";
import { sentence } from "./text/sentence";

/** Asks for confirmation before an action that cannot be undone. Stays open with the reason if the action fails. */
export function ConfirmDialog(props: {
  title: string;
  subject: string;
  action: string;
  cancel: string;
  perform: () => Promise<unknown>;
  onClose: () => void;
  children: ReactNode;
}) {
  const { title, subject, action, cancel, perform, onClose, children } = props;
  const confirm = useMutation({ mutationFn: perform, onSuccess: onClose });
  return (
    <Dialog open onOpenChange={onClose} title={title} description={subject}>
      <p className="text-soft">{children}</p>
      {confirm.isError ? (
        <p role="alert" className="mt-3 text-bad [overflow-wrap:anywhere]">
          {sentence(errorMessage(confirm.error))}
        </p>
      ) : null}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>{cancel}</Button>
        <Button variant="danger" disabled={confirm.isPending} onClick={() => confirm.mutate()}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
