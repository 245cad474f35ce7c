import type { SandboxEvent } from "@/api/client";
import type { Connection } from "@/live/connection";
import type { Feed } from "./feed";
import { fill, load } from "./loading";

export interface Following {
  sandboxId: string;
  /** An event that should be there soon, wherever it is in the run. */
  wanted?: number;
  onError: (error: unknown) => void;
}

/** Load a sandbox's events and keep them up to date; the function that comes back ends it. */
export function follow(
  feed: Feed,
  connection: Connection,
  { sandboxId, wanted, onError }: Following,
): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  let filling: Promise<void> | null = null;
  let early: SandboxEvent[] = [];

  const unlessEnded = (error: unknown) => {
    if (!signal.aborted) onError(error);
  };

  function add(events: readonly SandboxEvent[]): void {
    if (!feed.append(events)) catchUp();
  }

  function catchUp(): void {
    filling ??= fill(feed, sandboxId, signal)
      .catch(unlessEnded)
      .finally(() => {
        filling = null;
      });
  }

  // Subscribed before anything is loaded, so nothing falls in between; what comes early waits for the first page.
  const unsubscribe = connection.subscribe(
    { types: ["sandbox.event"], sandbox_id: sandboxId },
    {
      onItems: (items) => {
        const events = items.map((item) => item.data as SandboxEvent);
        if (feed.events.length > 0 || feed.isWhole) add(events);
        else early = early.concat(events);
      },
      onResync: catchUp,
    },
  );
  const unwatch = feed.watch(() => {
    if (early.length === 0) return;
    const held = early;
    early = [];
    add(held);
  });
  load(feed, sandboxId, wanted, signal).catch(unlessEnded);
  return () => {
    controller.abort();
    unsubscribe();
    unwatch();
  };
}
