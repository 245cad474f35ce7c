import { defaultRangeExtractor, type Range, useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { type RefObject, useCallback, useEffect, useLayoutEffect, useReducer, useRef } from "react";
import { END_PX, type Scroll, scroll } from "./scroll-state";

export interface Scrolling {
  virtualizer: Virtualizer<HTMLDivElement, Element>;
  state: Scroll;
  /** How many items came since the reader left the end. */
  fresh: number;
  onScroll(): void;
  /** Someone's hand is on the list: for a moment nothing pulls it to the end. */
  onTouch(): void;
  toLatest(): void;
  /** Go to an event as soon as it is there. */
  toEvent(seq: number): void;
  /** The event that was on the way to is in view. */
  arrived(): void;
}

const TOUCH_MS = 300;

/** What a list that scrolls is made of. */
export interface ScrollList {
  count: number;
  /** Grows with what is added at the end: the number of the last event, say. */
  last: number;
  /** Another one is another list: everything is measured anew. */
  listKey: string;
  keyOf(index: number): number | string;
  /** How high an item will be, about, until it is measured. */
  heightOf(index: number): number;
  /** How many items were there when `last` was this. */
  countUpTo(last: number): number;
  /** The item that stays on the page however far it is scrolled away. */
  kept?: number | null;
  /** The number to go to first, instead of the end. */
  start?: number | null;
  padding?: number;
  /** Whether older ones are still to come behind the last item, so that being there is not being at the end. */
  hasGap?: boolean;
  /** Called before the way to the latest begins. */
  onLatest?(): void;
}

/** A list's scrolling: `scrolling.ts` says what is meant, this does it. Only what is in sight is drawn. */
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
  // A new function makes the virtualizer measure everything anew, which a changed filter asks for and nothing else does.
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
      // Growing content leaves the end behind without anyone having scrolled; only who goes up means to stay.
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

/** Keeps the end in sight while that is meant. */
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

  // What is below the list grows and shrinks, and the end is to stay in sight.
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

/** While the end is followed, what is there next is drawn at once and not only when the list has been scrolled to it. */
function endOf(range: Range): Range {
  const preloadedComponent = Math.max(0, range.count - 1 - range.endIndex);
  return { ...range, startIndex: range.startIndex + preloadedComponent, endIndex: range.endIndex + preloadedComponent };
}

/** The row that has the focus stays there however far it is scrolled away. */
function withKept(indexes: number[], kept: number | null, count: number): number[] {
  if (kept === null || kept < 0 || kept >= count || indexes.includes(kept)) return indexes;
  return [...indexes, kept].toSorted((one, other) => one - other);
}

