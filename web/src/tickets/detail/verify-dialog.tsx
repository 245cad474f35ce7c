import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api, reason, type Task } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, TextArea } from "@/ui/form/field";
import { sendOnEnter } from "@/ui/form/submit-on-enter";
import { sentence } from "@/ui/text/sentence";
import { refresh } from "../cache";

const MOST = 50;

/** The commands that were written, one in each line. */
export function commandsIn(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Check the stored commit with commands of one's own, without a new attempt. */
export function VerifyDialog({ task, onClose }: { task: Task; onClose: () => void }) {
  const queries = useQueryClient();
  const [text, setText] = useState("");
  const commands = commandsIn(text);
  const verify = useMutation({
    mutationFn: () =>
      answer(api.POST("/api/v1/tasks/{task_id}/verify", { params: { path: { task_id: task.id } }, body: { acceptance: commands } })),
    onSuccess: () => {
      onClose();
      void refresh(queries, task.ticket_id);
    },
  });
  const trouble = commands.length > MOST ? `At most ${MOST} commands.` : null;
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title="Add a check"
      description="Each command runs in a fresh sandbox at the stored commit. The task keeps its attempts, and the verdict is replaced."
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
          hint="One in each line, e.g. python3 -m unittest. An exit code other than 0 fails the check."
          error={trouble ?? (verify.isError ? sentence(reason(verify.error)) : null)}
        >
          {(ids) => (
            <TextArea
              {...ids}
              rows={4}
              className="font-mono"
              onKeyDown={sendOnEnter}
              value={text}
              onChange={({ target }) => setText(target.value)}
            />
          )}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" variant="primary" disabled={verify.isPending || commands.length === 0}>
            {verify.isPending ? "Starting…" : "Run the checks now"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
