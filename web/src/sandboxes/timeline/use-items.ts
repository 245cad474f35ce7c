import { useEffect, useState } from "react";
import type { Feed } from "../feed/feed";
import { Timeline } from "./grouping";
import { type Filter, VisibleItems } from "./items";

/** So much of a search is done between two frames. */
const BUDGET_MS = 12;

/** A feed as rows, and of them what is shown. Both are changed in place and only by what is new. */
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
