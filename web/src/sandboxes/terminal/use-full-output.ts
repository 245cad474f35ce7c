import { useState } from "react";
import { errorMessage, fetchText } from "@/api/client";
import { sentence } from "@/ui/text/sentence";
import type { Command, Outcome } from "./commands";
import type { Whole } from "./rows";

/** The whole of an output, fetched where the event holds only its beginning. */
export function fullOutput(sandboxId: string, outcome: Outcome): Promise<string> {
  const blob = outcome.cut?.blob;
  if (!blob) return Promise.resolve(outcome.output);
  return fetchText(`/api/v1/sandboxes/${encodeURIComponent(sandboxId)}/blobs/${encodeURIComponent(blob)}`);
}

/** Which outputs are shown whole. */
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
