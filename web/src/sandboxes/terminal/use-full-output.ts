import { useState } from "react";
import { errorMessage, fetchText } from "@/api/client";
import { sentence } from "@/ui/text/sentence";
import type { Command, Outcome } from "./commands";
import type { Whole } from "./rows";

/** Return the full output, fetched if the event contains only its start. */
export function fullOutput(sandboxId: string, outcome: Outcome): Promise<string> {
  const blob = outcome.cut?.blob;
  if (!blob) return Promise.resolve(outcome.output);
  return fetchText(`/api/v1/sandboxes/${encodeURIComponent(sandboxId)}/blobs/${encodeURIComponent(blob)}`);
}

/** Track which outputs are shown in full. */
export function useFullOutput(sandboxId: string) {
  const [whole, setWhole] = useState<Whole>(new Map());
  const [trouble, setTrouble] = useState<ReadonlyMap<number, string>>(new Map());

  async function show(command: Command, outcome: Outcome): Promise<void> {
    try {
      const text = outcome.cut?.blob ? await fullOutput(sandboxId, outcome) : null;
      setWhole((before) => new Map(before).set(command.seq, text));
    } catch (error) {
      const said = sentence(`The output could not be loaded: ${errorMessage(error)}`);
      setTrouble((before) => new Map(before).set(command.seq, said));
    }
  }
  return { whole, trouble, show };
}
