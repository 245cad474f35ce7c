import type { Sandbox } from "@/api/client";
import { bytes } from "@/ui/text/numbers";
import { sentence } from "@/ui/text/sentence";
import { duration } from "@/ui/time/format";

export type Salvage = NonNullable<Sandbox["salvage"]>;

/** Whether its disk is still kept because its work is not saved. */
export function isUnsaved(salvage: Salvage | null): boolean {
  return salvage?.state === "pending" || salvage?.state === "kept";
}

/** What became of the uncommitted work of an ended sandbox, in a few words; null where nothing is to be said. */
export function salvageLabel(salvage: Salvage | null): string | null {
  if (isUnsaved(salvage)) return "Work not saved yet";
  return salvage?.state === "dropped" ? "Unsaved work removed" : null;
}

/** The same in sentences. */
export function salvageWords(salvage: Salvage, now: number): string[] {
  const tried = `tried ${salvage.attempts} ${salvage.attempts === 1 ? "time" : "times"}`;
  const why = salvage.last_error === null ? "" : `: ${salvage.last_error}`;
  if (salvage.state === "saved") return ["Its uncommitted work was saved after it had ended."];
  if (salvage.state === "dropped") return [sentence(`Its uncommitted work was not saved and has been removed (${tried})${why}`)];
  const size = salvage.disk_bytes === null ? "" : ` (${bytes(salvage.disk_bytes)})`;
  return [
    sentence(`Its uncommitted work is not saved yet and is kept on its disk${size}; saving was ${tried}${why}`),
    ...next(salvage, now),
  ];
}

function next({ state, next_attempt_at: at, wait_until: until }: Salvage, now: number): string[] {
  const left = (moment: string) => Date.parse(moment) - now;
  const said = at === null ? [] : [left(at) > 0 ? `Saving is tried again in ${duration(left(at))}.` : "Saving is being tried again."];
  if (state === "kept") return [...said, "The next attempt no longer waits for it."];
  return until === null || left(until) <= 0 ? said : [...said, `The next attempt waits for it for another ${duration(left(until))} at most.`];
}
