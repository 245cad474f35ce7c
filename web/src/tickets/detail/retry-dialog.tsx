import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { unwrap, api, errorMessage, type Task } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, TextArea } from "@/ui/form/field";
import { notify } from "@/ui/notices";
import { submitOnEnter } from "@/ui/form/submit-on-enter";
import { sentence } from "@/ui/text/sentence";
import { refresh } from "../cache";

/** Retry a failed task, with a message to the agent. */
export function RetryDialog({ task, onClose }: { task: Task; onClose: () => void }) {
  const queries = useQueryClient();
  const [message, setMessage] = useState("");
  const retry = useMutation({
    mutationFn: () => {
      const params = { path: { task_id: task.id } };
      const words = message.trim();
      return unwrap(api.POST("/api/v1/tasks/{task_id}/retry", { params, body: words === "" ? {} : { message: words } }));
    },
    onSuccess: (queued) => {
      notify(`Attempt ${queued.attempt} of “${queued.title}” is queued.`);
      onClose();
      void refresh(queries, task.ticket_id);
    },
  });
  return (
    <Dialog open onOpenChange={onClose} title="Retry task" description="A new sandbox continues on the same branch with the same conversation.">
      <form
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (!retry.isPending) retry.mutate();
        }}
      >
        <Field
          label="Message to the agent"
          hint="Optional. What the agent should do differently."
          error={retry.isError ? sentence(errorMessage(retry.error)) : null}
        >
          {(ids) => (
            <TextArea
              {...ids}
              rows={4}
              maxLength={20_000}
              onKeyDown={submitOnEnter}
              value={message}
              onChange={({ target }) => setMessage(target.value)}
            />
          )}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" variant="primary" disabled={retry.isPending}>
            {retry.isPending ? "Queueing…" : "Retry task"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
