import type { SandboxEvent } from "@/api/client";
import type { Connection } from "@/stream/connection";
import type { Feed } from "./feed";
import { fill, load } from "./load";
import { retryUntilDone } from "./retry";

export interface Following {
  sandboxId: string;
  /** An event to load first, wherever it is in the history. */
  wanted?: number;
  /** Called with what prevents loading, and with null when nothing does. */
  onError: (error: unknown) => void;
}

/** Load a sandbox's events and keep them up to date. Return a function that stops it. */
export function follow(
  feed: Feed,
  connection: Connection,
  { sandboxId, wanted, onError }: Following,
): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  let filling: Promise<void> | null = null;
  let early: SandboxEvent[] = [];
  // Events may have happened between the last loaded page and the start of the subscription; fetch them once both are
  // there.
  let hasBegun = false;

  const troubles = new Map<string, unknown>();

  function keepOn(name: string, act: () => Promise<void>): Promise<void> {
    const onTrouble = (error: unknown) => {
      if (error === null) troubles.delete(name);
      else troubles.set(name, error);
      onError(troubles.values().next().value ?? null);
    };
    return retryUntilDone(act, { connection, signal, onTrouble });
  }

  function add(events: readonly SandboxEvent[]): void {
    if (!feed.append(events)) catchUp();
  }

  function catchUp(): void {
    filling ??= keepOn("newer", () => fill(feed, sandboxId, signal)).finally(() => {
      filling = null;
    });
  }

  // Hold events that arrive before the first page.
  const unsubscribe = connection.subscribe(
    { types: ["sandbox.event"], sandbox_id: sandboxId },
    {
      onItems: (items) => {
        const events = items.map((item) => item.data as SandboxEvent);
        if (feed.events.length > 0 || feed.isWhole) add(events);
        else early = early.concat(events);
      },
      onBegin: () => {
        hasBegun = true;
        if (feed.isWhole) catchUp();
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
  // Events may be missing from what was loaded while the stream was disconnected.
  let wasLost = connection.state === "lost";
  const unwatchLink = connection.watch(() => {
    if (connection.state === "open" && wasLost && feed.events.length > 0) catchUp();
    wasLost = connection.state === "lost";
  });
  void keepOn("older", () => load(feed, sandboxId, wanted, signal)).then(() => {
    if (hasBegun && feed.isWhole && !signal.aborted) catchUp();
  });
  return () => {
    controller.abort();
    unsubscribe();
    unwatch();
    unwatchLink();
  };
}
