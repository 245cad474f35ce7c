import { unwrap, api, type SandboxEvent } from "@/api/client";
import type { Feed } from "./feed";

const PAGE = 500;

type Read = (order: "asc" | "desc", beyond?: number) => Promise<SandboxEvent[]>;

/**
 * Load the newest events first, so that the page can be read at once, then older ones page by page. If an event further
 * back is wanted, load the events around it first, then those up to the newest. After a failure, a second call
 * continues.
 */
export async function load(feed: Feed, sandboxId: string, wanted: number | undefined, signal: AbortSignal): Promise<void> {
  const read = reader(sandboxId, signal);
  if (feed.events.length === 0) await begin(feed, wanted, read);
  while (feed.tail.length > 0) {
    const between = await read("asc", feed.last);
    if (between.length === 0) break;
    // If the user went to the newest events meanwhile, the feed ignores these.
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
  // The await below reports a failure; until then it is unhandled.
  middle?.catch(() => undefined);
  const newest = (await read("desc")).toReversed();
  if (middle !== null && wanted !== undefined && (newest[0]?.seq ?? 0) > wanted) feed.begin((await middle).toReversed(), newest);
  else feed.prepend(newest);
}

/** Load events after the newest one that the stream did not deliver. */
export async function fill(feed: Feed, sandboxId: string, signal: AbortSignal): Promise<void> {
  const read = reader(sandboxId, signal);
  for (;;) {
    const page = await read("asc", feed.newest);
    feed.append(page);
    if (page.length < PAGE) return;
  }
}

/** Return a function that reads one page: the newest events, or those before or after an event's number. */
function reader(sandboxId: string, signal: AbortSignal): Read {
  return async (order, beyond) => {
    const params = { path: { sandbox_id: sandboxId }, query: { limit: PAGE, order, beyond } };
    return (await unwrap(api.GET("/api/v1/sandboxes/{sandbox_id}/events", { params, signal }))).items;
  };
}
