import { useSyncExternalStore } from "react";
import { cn } from "@/ui/cn";
import { TextArea } from "@/ui/form/field";
import { submitOnEnter } from "@/ui/form/submit-on-enter";
import { draftOf, keepDraft, watchDrafts } from "./drafts";

/** Use the draft of a message to a sandbox. It is stored in this browser and shared by all tabs until it is sent. */
export function useDraft(sandboxId: string): [text: string, write: (text: string) => void] {
  const text = useSyncExternalStore(watchDrafts, () => draftOf(sandboxId));
  return [text, (next) => keepDraft(sandboxId, next)];
}

/** The input for a message. Enter inserts a line; Ctrl or Command with Enter sends. */
export function DraftBox(props: { label: string; placeholder: string; text: string; onWrite: (text: string) => void; className?: string }) {
  return (
    <TextArea
      aria-label={props.label}
      placeholder={props.placeholder}
      rows={2}
      value={props.text}
      onChange={({ target }) => props.onWrite(target.value)}
      onKeyDown={submitOnEnter}
      className={cn("max-h-60 min-h-14", props.className)}
    />
  );
}
