import type { Sandbox } from "@/api/client";
import { bytes } from "@/ui/text/numbers";
import { sentence } from "@/ui/text/sentence";
import { duration } from "@/ui/time/format";

export type Salvage = NonNullable<Sandbox["salvage"]>;

/** Whether the disk is kept because the work is not saved. */
export function isUnsaved(salvage: Salvage | null): boolean {
  return salvage?.state === "pending" || salvage?.state === "kept";
}

/** Return a label for the state of the uncommitted work; null where there is nothing to report. */
export function salvageLabel(salvage: Salvage | null): string | null {
  if (isUnsaved(salvage)) return "Work not saved yet";
  return salvage?.state === "dropped" ? "Unsaved work discarded" : null;
}

/** Return the same as sentences. */
export function salvageSentences(salvage: Salvage, now: number): string[] {
  const tries = `${salvage.attempts} ${salvage.attempts === 1 ? "try" : "tries"}`;
  const why = salvage.last_error === null ? "" : `: ${salvage.last_error}`;
  if (salvage.state === "saved") return ["The sandbox's work was saved after it ended."];
  if (salvage.state === "dropped") return [sentence(`Uncommitted work could not be saved and was discarded after ${tries}${why}`)];
  const size = salvage.disk_bytes === null ? "" : ` (${bytes(salvage.disk_bytes)})`;
  return [
    sentence(`Uncommitted work is not saved yet and remains on the sandbox's disk${size} after ${tries} to save it${why}`),
    ...next(salvage, now),
  ];
}

function next({ state, next_attempt_at: at, wait_until: until }: Salvage, now: number): string[] {
  const left = (moment: string) => Date.parse(moment) - now;
  const said = at === null ? [] : [left(at) > 0 ? `Saving is retried in ${duration(left(at))}.` : "Saving is being retried now."];
  if (state === "kept") return [...said, "The next attempt at the task no longer waits for it."];
  return until === null || left(until) <= 0 ? said : [...said, `The next attempt at the task waits for it for at most another ${duration(left(until))}.`];
}
