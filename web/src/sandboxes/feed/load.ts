import { unwrap, api, type SandboxEvent } from "@/api/client";
import type { Feed } from "./feed";

const PAGE = 500;

type Read = (order: "asc" | "desc", beyond?: number) => Promise<SandboxEvent[]>;

/**
 * The newest events first, so that the page can be read at once; then everything older, page by page. When an event far
 * back is wanted, what is around it comes first, then all up to the newest. Called again after a failure, it goes on.
 */
export async function load(feed: Feed, sandboxId: string, wanted: number | undefined, signal: AbortSignal): Promise<void> {
  const read = reader(sandboxId, signal);
  if (feed.events.length === 0) await begin(feed, wanted, read);
  while (feed.tail.length > 0) {
    const between = await read("asc", feed.last);
    if (between.length === 0) break;
    // Someone may have gone to the newest meanwhile; then these are too old for it and are not taken.
    feed.bridge(between);
  }
  while (feed.first > 1) {
    const older = await read("desc", feed.first);
    if (older.length === 0) break;
    feed.prepend(older.toReversed());
  }
  feed.markWhole();
}

async function begin(feed: Feed, wanted: number | undefined, read: Read): Promise<void> {
  const middle = wanted === undefined ? null : read("desc", wanted + PAGE / 2);
  // Its failure is told by the wait below; until then nobody waits.
  middle?.catch(() => undefined);
  const newest = (await read("desc")).toReversed();
  if (middle !== null && wanted !== undefined && (newest[0]?.seq ?? 0) > wanted) feed.begin((await middle).toReversed(), newest);
  else feed.prepend(newest);
}

/** What happened since the newest event that is there, when the stream did not tell it. */
export async function fill(feed: Feed, sandboxId: string, signal: AbortSignal): Promise<void> {
  const read = reader(sandboxId, signal);
  for (;;) {
    const page = await read("asc", feed.newest);
    feed.append(page);
    if (page.length < PAGE) return;
  }
}

/** Reads a page of events: the newest, or those beyond an event's number, older or newer ones. */
function reader(sandboxId: string, signal: AbortSignal): Read {
  return async (order, beyond) => {
    const params = { path: { sandbox_id: sandboxId }, query: { limit: PAGE, order, beyond } };
    return (await unwrap(api.GET("/api/v1/sandboxes/{sandbox_id}/events", { params, signal }))).items;
  };
}
