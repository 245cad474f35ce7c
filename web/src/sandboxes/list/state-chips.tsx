import { Chip } from "@/ui/form/chip";
import { capitalized } from "@/ui/text/sentence";
import { SANDBOX_STATES, type SandboxesSearch } from "@/search";

/** A filter by status, with the number of sandboxes in each. */
export function StateChips(props: {
  counts: ReadonlyMap<string, number>;
  /** Whether there are more sandboxes than were counted. */
  isPartial: boolean;
  chosen: SandboxesSearch["status"];
  onChoose: (state: SandboxesSearch["status"]) => void;
}) {
  return (
    <div role="group" aria-label="Filter by status" className="flex flex-wrap items-center gap-1.5">
      <span aria-hidden className="text-xs text-soft">
        Status
      </span>
      <Chip isOn={props.chosen === undefined} onPress={() => props.onChoose(undefined)}>
        All
      </Chip>
      {SANDBOX_STATES.map((state) => {
        const many = props.counts.get(state) ?? 0;
        const isOn = props.chosen === state;
        if (many === 0 && !isOn) return null;
        return (
          <Chip key={state} isOn={isOn} onPress={() => props.onChoose(isOn ? undefined : state)}>
            {capitalized(state)}
            <span className="text-soft tabular-nums">
              {many}
              {props.isPartial ? "+" : ""}
            </span>
          </Chip>
        );
      })}
    </div>
  );
}
