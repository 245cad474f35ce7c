import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { unwrap, api, errorMessage, type Task } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, TextArea } from "@/ui/form/field";
import { submitOnEnter } from "@/ui/form/submit-on-enter";
import { sentence } from "@/ui/text/sentence";
import { refresh } from "../cache";

const MOST = 50;

/** Return the commands of a text, one per line. */
export function commandsIn(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Run commands on the stored commit without a new attempt. */
export function VerifyDialog({ task, onClose }: { task: Task; onClose: () => void }) {
  const queries = useQueryClient();
  const [text, setText] = useState("");
  const commands = commandsIn(text);
  const verify = useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/v1/tasks/{task_id}/verify", { params: { path: { task_id: task.id } }, body: { acceptance: commands } })),
    onSuccess: () => {
      onClose();
      void refresh(queries, task.ticket_id);
    },
  });
  const trouble = commands.length > MOST ? `Enter at most ${MOST} commands.` : null;
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title="Add check"
      description="The commands run in fresh sandboxes at the stored commit, and their result replaces the verdict. This uses no attempt."
    >
      <form
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (!verify.isPending && commands.length > 0 && trouble === null) verify.mutate();
        }}
      >
        <Field
          label="Commands"
          hint="One per line, for example python3 -m unittest. A non-zero exit code fails the check."
          error={trouble ?? (verify.isError ? sentence(errorMessage(verify.error)) : null)}
        >
          {(ids) => (
            <TextArea
              {...ids}
              rows={4}
              className="font-mono"
              onKeyDown={submitOnEnter}
              value={text}
              onChange={({ target }) => setText(target.value)}
            />
          )}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" variant="primary" disabled={verify.isPending || commands.length === 0}>
            {verify.isPending ? "Starting…" : "Run checks"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
