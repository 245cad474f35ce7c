import { ChevronDown, ChevronUp } from "lucide-react";
import { Button } from "@/ui/button";
import { Chip } from "@/ui/form/chip";
import { count } from "@/ui/text/numbers";
import { SearchBox } from "@/ui/form/search-box";
import { ALL_KINDS, KIND, KIND_LABELS, type Kind, KINDS } from "./kinds";

/** Search, filters and error navigation of the timeline. */
export function Toolbar(props: {
  mask: number;
  counts: Record<Kind, number>;
  onMask: (mask: number) => void;
  query: string;
  onQuery: (query: string) => void;
  onError: (direction: 1 | -1) => void;
  found: number | null;
  isSearching: boolean;
}) {
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-x-2 gap-y-1.5 border-b px-3 py-1.5 max-sm:flex-nowrap max-sm:gap-x-1 max-sm:py-1">
      <SearchBox
        id="timeline-search"
        label="Search timeline"
        placeholder="Search"
        className="w-36 grow max-sm:w-28 max-sm:flex-none sm:max-w-52"
        words={props.query}
        onWords={props.onQuery}
      />
      <span role="status" className="text-xs text-faint">
        {props.found === null ? "" : `${count(props.found)} found${props.isSearching ? " so far" : ""}`}
      </span>
      {props.counts.error > 0 ? <ErrorButtons onError={props.onError} /> : null}
      <div
        role="group"
        aria-label="Event types"
        className="flex min-w-0 flex-wrap gap-1 max-sm:flex-1 max-sm:flex-nowrap max-sm:overflow-x-auto max-sm:py-0.5"
      >
        {KINDS.filter((kind) => props.counts[kind] > 0 || (props.mask !== ALL_KINDS && (props.mask & KIND[kind]) !== 0)).map((kind) => (
          <KindButton key={kind} kind={kind} mask={props.mask} amount={props.counts[kind]} onMask={props.onMask} />
        ))}
        {props.mask === ALL_KINDS ? null : (
          <Button size="small" variant="quiet" className="h-6" onClick={() => props.onMask(ALL_KINDS)}>
            Show all
          </Button>
        )}
      </div>
    </div>
  );
}

function ErrorButtons({ onError }: { onError: (direction: 1 | -1) => void }) {
  return (
    <span className="flex items-center text-xs text-soft">
      <span aria-hidden className="max-sm:hidden">
        Errors
      </span>
      <Button size="small" variant="quiet" className="size-6 px-0" aria-label="Previous error" title="Previous error (Shift+e)" onClick={() => onError(-1)}>
        <ChevronUp />
      </Button>
      <Button size="small" variant="quiet" className="size-6 px-0" aria-label="Next error" title="Next error (e)" onClick={() => onError(1)}>
        <ChevronDown />
      </Button>
    </span>
  );
}

function KindButton(props: { kind: Kind; mask: number; amount: number; onMask: (mask: number) => void }) {
  const isAll = props.mask === ALL_KINDS;
  const isOn = !isAll && (props.mask & KIND[props.kind]) !== 0;
  // The first choice selects only this kind; further ones add to it.
  const next = isAll ? KIND[props.kind] : props.mask ^ KIND[props.kind];
  return (
    <Chip isOn={isOn} isBad={props.kind === "error"} onPress={() => props.onMask(next === 0 ? ALL_KINDS : next)}>
      {KIND_LABELS[props.kind]} <span className="text-2xs tabular-nums">{count(props.amount)}</span>
    </Chip>
  );
}
