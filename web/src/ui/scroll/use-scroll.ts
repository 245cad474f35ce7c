import { defaultRangeExtractor, type Range, useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { type RefObject, useCallback, useEffect, useLayoutEffect, useReducer, useRef } from "react";
import { END_PX, type Scroll, scroll } from "./scroll-state";

export interface Scrolling {
  virtualizer: Virtualizer<HTMLDivElement, Element>;
  state: Scroll;
  /** The number of items that arrived since the reader left the end. */
  fresh: number;
  onScroll(): void;
  /** The reader is scrolling: do not move the list for a moment. */
  onTouch(): void;
  toLatest(): void;
  /** Scroll to an event as soon as it is loaded. */
  toEvent(seq: number): void;
  /** The requested event is in view. */
  arrived(): void;
}

const TOUCH_MS = 300;

/** The properties of a scrolling list. */
export interface ScrollList {
  count: number;
  /** Grows as items are appended, like the number of the last event. */
  last: number;
  /** Identifies the list: another key means new measurements. */
  listKey: string;
  keyOf(index: number): number | string;
  /** Estimate the height of an item until it is measured. */
  heightOf(index: number): number;
  /** Return the number of items when `last` had this value. */
  countUpTo(last: number): number;
  /** The item that stays rendered when it is scrolled out of view. */
  kept?: number | null;
  /** The event to scroll to first, instead of the end. */
  start?: number | null;
  padding?: number;
  /** Whether items are still missing after the last one, so that it is not the end. */
  hasGap?: boolean;
  /** Called before scrolling to the latest item. */
  onLatest?(): void;
}

/** Scrolls a virtual list according to `scroll-state.ts`. Only visible items are rendered. */
export function useScroll(box: RefObject<HTMLDivElement | null>, list: ScrollList): Scrolling {
  const { count, last, listKey, kept = null, padding = 0 } = list;
  const [state, dispatch] = useReducer(scroll, list.start ?? null, (start): Scroll =>
    start === null ? { intent: "open" } : { intent: "jump", seq: start, seen: 0 },
  );
  const newest = useRef(list);
  useLayoutEffect(() => {
    newest.current = list;
  });
  const before = useRef(0);
  const touched = useRef(-Infinity);
  // A new function makes the virtualizer measure everything again, which a changed filter asks for and nothing else does.
  // oxlint-disable-next-line react-hooks/exhaustive-deps
  const getItemKey = useCallback((index: number) => newest.current.keyOf(index), [listKey]);
  const virtualizer = useVirtualizer<HTMLDivElement, Element>({
    count,
    getItemKey,
    getScrollElement: () => box.current,
    estimateSize: list.heightOf,
    rangeExtractor: (range: Range) => withKept(defaultRangeExtractor(state.intent === "follow" ? endOf(range) : range), kept, count),
    overscan: 6,
    paddingStart: padding,
    paddingEnd: padding,
    anchorTo: "end",
    followOnAppend: state.intent === "follow",
    scrollEndThreshold: END_PX,
    useFlushSync: false,
  });

  useFollowing(box, virtualizer, { intent: state.intent, count, last, touched, onShown: () => dispatch({ type: "shown", last }) });

  return {
    virtualizer,
    state,
    fresh: state.intent === "hold" ? Math.max(0, count - list.countUpTo(state.seen)) : 0,
    onScroll() {
      const element = box.current;
      if (element === null) return;
      const isUpward = element.scrollTop < before.current - 1;
      before.current = element.scrollTop;
      const atEnd = !list.hasGap && isAtEnd(element);
      const isTouched = performance.now() - touched.current < TOUCH_MS;
      // Growing content moves the end away without scrolling; only scrolling up means leaving it.
      if (atEnd || isUpward || isTouched) dispatch({ type: "scrolled", atEnd, last });
    },
    onTouch() {
      touched.current = performance.now();
    },
    toLatest() {
      touched.current = -Infinity;
      list.onLatest?.();
      dispatch({ type: "latest" });
      virtualizer.scrollToEnd();
    },
    toEvent: (seq) => dispatch({ type: "asked", seq, last }),
    arrived: () => dispatch({ type: "arrived", atEnd: !list.hasGap && box.current !== null && isAtEnd(box.current), last }),
  };
}

/** Keep the end in view while following it. */
function useFollowing(
  box: RefObject<HTMLDivElement | null>,
  virtualizer: Virtualizer<HTMLDivElement, Element>,
  state: { intent: Scroll["intent"]; count: number; last: number; touched: RefObject<number>; onShown: () => void },
): void {
  const { intent, count, last, touched, onShown } = state;
  const shown = useRef(onShown);
  useLayoutEffect(() => {
    shown.current = onShown;
  });
  const height = virtualizer.getTotalSize();
  useLayoutEffect(() => {
    if (count === 0 || box.current === null) return;
    if (intent === "open") {
      virtualizer.scrollToEnd();
      shown.current();
    } else if (intent === "follow" && !isAtEnd(box.current) && performance.now() - touched.current > TOUCH_MS) {
      virtualizer.scrollToEnd();
    }
    // Whatever makes the list longer or higher takes the end out of sight.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [intent, count, last, height, box, virtualizer, touched]);

  // Elements below the list change in height; keep the end in view.
  const isThere = count > 0;
  useEffect(() => {
    const element = box.current;
    if (!isThere || element === null || intent !== "follow") return;
    const observer = new ResizeObserver(() => virtualizer.scrollToEnd());
    observer.observe(element);
    return () => observer.disconnect();
  }, [box, virtualizer, intent, isThere]);
}

function isAtEnd(element: HTMLElement): boolean {
  return element.scrollHeight - element.scrollTop - element.clientHeight <= END_PX;
}

/** While following the end, render the next items before the list has scrolled to them. */
function endOf(range: Range): Range {
  const preloadedComponent = Math.max(0, range.count - 1 - range.endIndex);
  return { ...range, startIndex: range.startIndex + preloadedComponent, endIndex: range.endIndex + preloadedComponent };
}

/** The focused row stays rendered when it is scrolled out of view. */
function withKept(indexes: number[], kept: number | null, count: number): number[] {
  if (kept === null || kept < 0 || kept >= count || indexes.includes(kept)) return indexes;
  return [...indexes, kept].toSorted((one, other) => one - other);
}

