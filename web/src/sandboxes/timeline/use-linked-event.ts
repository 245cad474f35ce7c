import { type RefObject, useEffect, useRef } from "react";
import { notify } from "@/ui/notices";
import type { Scrolling } from "@/ui/scroll/use-scroll";
import type { Feed } from "../feed/feed";
import type { Timeline } from "./grouping";
import type { VisibleItems } from "./items";
import type { TimelineState } from "./state";

const FRAMES = 4;

/** Scroll to the event that the address links to, once it is loaded, and expand its group. */
export function useLinkedEvent(way: {
  box: RefObject<HTMLDivElement | null>;
  feed: Feed;
  timeline: Timeline;
  shown: VisibleItems;
  scrolling: Scrolling;
  parts: TimelineState;
  ev: number | undefined;
  onHidden: () => void;
}): void {
  const { box, feed, timeline, shown, scrolling, parts, ev, onHidden } = way;
  const asked = useRef(ev);
  useEffect(() => {
    if (ev === asked.current) return;
    asked.current = ev;
    if (ev !== undefined) scrolling.toEvent(ev);
  });

  const { state } = scrolling;
  const target = state.intent === "jump" ? state.seq : null;
  const isThere = target !== null && feed.events.length > 0 && (feed.first <= target || feed.isWhole);
  const place = isThere ? timeline.indexOf(target) : -1;
  useEffect(() => {
    if (!isThere || target === null) return;
    if (place === -1) {
      if (!feed.isWhole && target <= feed.newest) return;
      scrolling.toLatest();
      notify(`This sandbox has no event ${target}. The last event is ${feed.newest}.`, { isBad: true });
      return;
    }
    const index = shown.indexOfRow(place);
    const item = shown.items[index];
    const row = timeline.rows[place];
    if (item === undefined || row === undefined || !item.rows.includes(row)) {
      onHidden();
      return;
    }
    if (item.isRun) parts.setOpen(`run:${item.key}`, true);
    scrolling.virtualizer.scrollToIndex(index, { align: "center" });
    return afterFrames(FRAMES, () => {
      const first = row.events[0]?.seq;
      if (item.isRun) box.current?.querySelector(`[data-index] [data-seq] [data-seq="${first}"]`)?.scrollIntoView({ block: "center" });
      scrolling.arrived();
    });
    // The rest is read when these change; a run of it for each event would scroll without end.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [isThere, target, place]);
}

function afterFrames(amount: number, act: () => void): () => void {
  let frame = requestAnimationFrame(function next() {
    amount -= 1;
    if (amount <= 0) act();
    else frame = requestAnimationFrame(next);
  });
  return () => cancelAnimationFrame(frame);
}
