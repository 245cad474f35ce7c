import { getRouteApi } from "@tanstack/react-router";
import { type RefObject, useCallback, useDeferredValue, useRef, useState } from "react";
import type { SandboxSearch } from "@/search";
import { useShortcuts } from "@/shell/shortcuts/shortcuts";
import { Empty, Loading } from "@/ui/loading/placeholders";
import { type Scrolling, useScroll } from "@/ui/scroll/use-scroll";
import type { ViewProps } from "../page/view";
import { estimate } from "./estimate";
import { ItemList } from "./item-list";
import { ALL_KINDS, countKinds, KIND, readKinds, writeKinds } from "./kinds";
import { firstOfItem, type VisibleItems } from "./items";
import { TimelineContext } from "./state";
import { Toolbar } from "./toolbar";
import { useLinkedEvent } from "./use-linked-event";
import { useOpenParts } from "./use-open-parts";
import { useItems } from "./use-items";

const route = getRouteApi("/sandbox/$sandboxId");

/** The events of a sandbox, from first to last. */
export function TimelineView({ sandbox, feed, upTo }: ViewProps) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback(
    (fields: Partial<SandboxSearch>) => void navigate({ search: (before) => ({ ...before, ...fields }), replace: true }),
    [navigate],
  );
  const mask = readKinds(search.kinds);
  const query = useDeferredValue(search.q ?? "");
  const { timeline, shown, count } = useItems(feed, { mask, query }, upTo);
  const [current, setCurrent] = useState<number | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const currentIndex = current === null ? null : shown.countUpTo(current) - 1;
  const scrolling = useScroll(box, {
    count,
    last: feed.last,
    listKey: `${mask}:${query}`,
    keyOf: (index) => shown.items[index]?.key ?? index,
    heightOf: (index) => estimate(shown.items[index]),
    countUpTo: (last) => shown.countUpTo(last),
    kept: currentIndex,
    start: search.ev ?? null,
    padding: 10,
    hasGap: feed.tail.length > 0,
    onLatest: () => {
      if (upTo === null) feed.skipToTail();
    },
  });
  const parts = useOpenParts(sandbox.id, upTo, { highlight: search.ev ?? null, current });
  useLinkedEvent({ box, feed, timeline, shown, scrolling, parts, ev: search.ev, onHidden: () => change({ kinds: undefined, q: undefined }) });

  const goToError = useMoves({ box, shown, scrolling, count, current: currentIndex, onCurrent: setCurrent });
  const counts = countKinds(feed.isWhole ? timeline.counts : Object.entries(sandbox.event_counts));
  counts.error = Math.max(timeline.failures, feed.isWhole ? 0 : counts.error);
  const isFiltered = mask !== ALL_KINDS || query !== "";
  return (
    <section aria-label="Timeline" className="flex h-full min-h-0 flex-col">
      <Toolbar
        mask={mask}
        counts={counts}
        onMask={(next) => change({ kinds: writeKinds(next) })}
        query={search.q ?? ""}
        onQuery={(text) => change({ q: text === "" ? undefined : text })}
        onError={goToError}
        found={isFiltered ? count : null}
        isSearching={!shown.isComplete}
      />
      <TimelineContext value={parts}>
        {count === 0 ? (
          <Nothing isFiltered={isFiltered} isLoading={(!feed.isWhole && feed.events.length === 0) || !shown.isComplete} />
        ) : (
          <ItemList box={box} shown={shown} scrolling={scrolling} current={currentIndex} onCurrent={(item) => setCurrent(firstOfItem(item))} />
        )}
      </TimelineContext>
    </section>
  );
}

/** Register the shortcuts that move between rows and errors. Return the function that goes to the next error. */
function useMoves(list: {
  box: RefObject<HTMLDivElement | null>;
  shown: VisibleItems;
  scrolling: Scrolling;
  count: number;
  current: number | null;
  onCurrent: (seq: number) => void;
}): (direction: 1 | -1) => void {
  const { box, shown, scrolling, count, current, onCurrent } = list;
  const goTo = (index: number) => {
    const item = shown.items[index];
    if (item === undefined) return;
    onCurrent(firstOfItem(item));
    scrolling.virtualizer.scrollToIndex(index, { align: "auto" });
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus({ preventScroll: true }));
  };
  const goToError = (direction: 1 | -1) => {
    let index = (current ?? (direction === 1 ? -1 : count)) + direction;
    while (index >= 0 && index < count && !isBad(shown.items[index]?.rows[0]?.mask)) index += direction;
    goTo(index);
  };
  const move = (step: 1 | -1) => goTo(Math.min(count - 1, Math.max(0, (current ?? (step === 1 ? -1 : count)) + step)));
  useShortcuts("Timeline", [
    { keys: "j", label: "Next row (Enter opens it)", run: () => move(1) },
    { keys: "k", label: "Previous row", run: () => move(-1) },
    { keys: "e", label: "Next error", run: () => goToError(1) },
    { keys: "E", label: "Previous error", run: () => goToError(-1) },
    { keys: "G", label: "Jump to latest", run: scrolling.toLatest },
    { keys: "/", label: "Search timeline", run: () => document.getElementById("timeline-search")?.focus() },
  ]);
  return goToError;
}

function isBad(mask: number | undefined): boolean {
  return ((mask ?? 0) & KIND.error) !== 0;
}

function Nothing({ isFiltered, isLoading }: { isFiltered: boolean; isLoading: boolean }) {
  if (isLoading) return <Loading what="events" />;
  if (isFiltered) return <Empty title="No matching events">Select other event types or change the search.</Empty>;
  return <Empty title="No events yet">Events appear here when the sandbox starts.</Empty>;
}
