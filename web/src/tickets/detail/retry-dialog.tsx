import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api, reason, type Task } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, TextArea } from "@/ui/form/field";
import { notify } from "@/ui/notices";
import { sendOnEnter } from "@/ui/form/submit-on-enter";
import { sentence } from "@/ui/text/sentence";
import { refresh } from "../cache";

/** Try a failed task again, with a word to the agent. */
export function RetryDialog({ task, onClose }: { task: Task; onClose: () => void }) {
  const queries = useQueryClient();
  const [message, setMessage] = useState("");
  const retry = useMutation({
    mutationFn: () => {
      const params = { path: { task_id: task.id } };
      const words = message.trim();
      return answer(api.POST("/api/v1/tasks/{task_id}/retry", { params, body: words === "" ? {} : { message: words } }));
    },
    onSuccess: (queued) => {
      notify(`Attempt ${queued.attempt} of “${queued.title}” is queued.`);
      onClose();
      void refresh(queries, task.ticket_id);
    },
  });
  return (
    <Dialog open onOpenChange={onClose} title="Try again" description="A new sandbox goes on with the same branch and conversation.">
      <form
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (!retry.isPending) retry.mutate();
        }}
      >
        <Field
          label="A word to the agent"
          hint="What it should do differently; it may be left empty."
          error={retry.isError ? sentence(reason(retry.error)) : null}
        >
          {(ids) => (
            <TextArea
              {...ids}
              rows={4}
              maxLength={20_000}
              onKeyDown={sendOnEnter}
              value={message}
              onChange={({ target }) => setMessage(target.value)}
            />
          )}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" variant="primary" disabled={retry.isPending}>
            {retry.isPending ? "Queueing…" : "Try again"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
