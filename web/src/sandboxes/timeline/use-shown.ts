import { useState } from "react";
import type { Feed } from "../feed/feed";
import { Timeline } from "./grouping";
import { type Filter, Shown } from "./shown";

/** A feed as rows, and of them what is shown. Both are changed in place and only by what is new. */
export function useShown(feed: Feed, filter: Filter, upTo: number | null): { timeline: Timeline; shown: Shown; count: number } {
  const [timeline] = useState(() => new Timeline());
  const [shown] = useState(() => new Shown());
  timeline.sync(feed);
  shown.sync(timeline, filter);
  return { timeline, shown, count: upTo === null ? shown.items.length : shown.countUpTo(upTo) };
}
