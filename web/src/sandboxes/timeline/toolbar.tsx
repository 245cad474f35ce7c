import { ChevronDown, ChevronUp, Search } from "lucide-react";
import { type RefObject, useEffect, useState } from "react";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Input } from "@/ui/field";
import { count } from "@/ui/figures";
import { ALL_KINDS, KIND, KIND_LABELS, type Kind, KINDS } from "./kinds";

const PAUSE_MS = 200;

/** What is shown of the timeline, and the way from error to error. */
export function Toolbar(props: {
  mask: number;
  counts: Record<Kind, number>;
  onMask: (mask: number) => void;
  query: string;
  onQuery: (query: string) => void;
  searchBox: RefObject<HTMLInputElement | null>;
  onError: (direction: 1 | -1) => void;
  found: number | null;
  isSearching: boolean;
}) {
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-x-2 gap-y-1.5 border-b px-3 py-1.5">
      <SearchBox query={props.query} onQuery={props.onQuery} box={props.searchBox} />
      <span role="status" className="text-xs text-faint">
        {props.found === null ? "" : `${count(props.found)} found${props.isSearching ? " so far" : ""}`}
      </span>
      <div role="group" aria-label="Kinds of events" className="flex min-w-0 flex-wrap gap-1">
        {KINDS.filter((kind) => props.counts[kind] > 0 || (props.mask !== ALL_KINDS && (props.mask & KIND[kind]) !== 0)).map((kind) => (
          <KindButton key={kind} kind={kind} mask={props.mask} amount={props.counts[kind]} onMask={props.onMask} />
        ))}
        {props.counts.error > 0 ? <ErrorButtons onError={props.onError} /> : null}
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
    <span className="flex">
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
  // The first choice means "only this"; the next ones add.
  const next = isAll ? KIND[props.kind] : props.mask ^ KIND[props.kind];
  return (
    <button
      type="button"
      aria-pressed={isOn}
      onClick={() => props.onMask(next === 0 ? ALL_KINDS : next)}
      className={cn(
        "inline-flex h-6 items-center gap-1 rounded-full border px-2 text-xs",
        isOn ? "border-accent bg-accent-soft text-accent" : "text-soft hover:bg-sunken",
        props.kind === "error" && !isOn && "border-bad/40 text-bad",
      )}
    >
      {KIND_LABELS[props.kind]} <span className="text-2xs tabular-nums">{count(props.amount)}</span>
    </button>
  );
}

function SearchBox({ query, onQuery, box }: { query: string; onQuery: (query: string) => void; box: RefObject<HTMLInputElement | null> }) {
  const [text, setText] = useState(query);
  useEffect(() => {
    if (text === query) return;
    const timer = setTimeout(() => onQuery(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, query, onQuery]);
  return (
    <div className="relative w-36 grow max-sm:w-full sm:max-w-52">
      <Search aria-hidden className="pointer-events-none absolute top-1.5 left-2 size-3.5 text-faint" />
      <Input
        ref={box}
        type="search"
        aria-label="Search in the timeline"
        placeholder="Search ( / )"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          setText("");
          event.currentTarget.blur();
        }}
        className="h-7 pl-7 text-xs"
      />
    </div>
  );
}
