import { useState } from "react";
import { cn } from "@/ui/cn";
import { TextArea } from "@/ui/field";
import { keepDraft, readDraft } from "./drafts";

/** What is typed for a sandbox's agent; it is kept in this browser until it is sent. */
export function useDraft(sandboxId: string): [text: string, write: (text: string) => void] {
  const [text, setText] = useState(() => readDraft(sandboxId));
  const write = (next: string) => {
    setText(next);
    keepDraft(sandboxId, next);
  };
  return [text, write];
}

/** Where it is typed. Enter is a new line; with Ctrl or Command it sends the form. */
export function DraftBox(props: { label: string; placeholder: string; text: string; onWrite: (text: string) => void; className?: string }) {
  return (
    <TextArea
      aria-label={props.label}
      placeholder={props.placeholder}
      rows={2}
      value={props.text}
      onChange={({ target }) => props.onWrite(target.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
      }}
      className={cn("max-h-60 min-h-14", props.className)}
    />
  );
}
