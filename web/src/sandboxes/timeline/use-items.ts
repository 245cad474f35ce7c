import { useEffect, useState } from "react";
import type { Feed } from "../feed/feed";
import { Timeline } from "./grouping";
import { type Filter, VisibleItems } from "./items";

/** Time for searching per frame. */
const BUDGET_MS = 12;

/** Use a feed as rows and visible items. Both change in place, only by what is new. */
export function useItems(feed: Feed, filter: Filter, upTo: number | null): { timeline: Timeline; shown: VisibleItems; count: number } {
  const [timeline] = useState(() => new Timeline());
  const [shown] = useState(() => new VisibleItems());
  const [, again] = useState(0);
  timeline.sync(feed);
  shown.sync(timeline, filter, BUDGET_MS);
  const { isComplete } = shown;
  useEffect(() => {
    if (isComplete) return;
    const timer = setTimeout(() => again((turn) => turn + 1));
    return () => clearTimeout(timer);
  });
  return { timeline, shown, count: upTo === null ? shown.items.length : shown.countUpTo(upTo) };
}
