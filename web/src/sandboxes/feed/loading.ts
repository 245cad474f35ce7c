import { answer, api, type SandboxEvent } from "@/api/client";
import type { Feed } from "./feed";

const PAGE = 500;

/** The newest events first, so that the page can be read at once; then everything older, page by page. */
export async function load(feed: Feed, sandboxId: string, signal: AbortSignal): Promise<void> {
  let cursor: string | null | undefined;
  do {
    const page = await newest(sandboxId, cursor, signal);
    feed.prepend(page.items.toReversed());
    cursor = page.next_cursor;
  } while (cursor);
  feed.markWhole();
}

/** What happened since the last event that is there, when the stream did not tell it. */
export async function fill(feed: Feed, sandboxId: string, signal: AbortSignal): Promise<void> {
  const missing: SandboxEvent[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await newest(sandboxId, cursor, signal);
    missing.push(...page.items);
    cursor = (missing.at(-1)?.seq ?? 0) > feed.last + 1 ? page.next_cursor : null;
  } while (cursor);
  feed.append(missing.toReversed());
}

function newest(sandboxId: string, cursor: string | null | undefined, signal: AbortSignal) {
  return answer(
    api.GET("/api/v1/sandboxes/{sandbox_id}/events", {
      params: { path: { sandbox_id: sandboxId }, query: { limit: PAGE, order: "desc", cursor: cursor ?? undefined } },
      signal,
    }),
  );
}
