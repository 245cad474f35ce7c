import { useState } from "react";
import type { SandboxEvent } from "@/api/client";
import type { Feed } from "./feed";

/** Something that is made from events, one after the other. */
export interface Collector {
  add(event: SandboxEvent): void;
}

/** Keeps a collector in step with a feed: each event is added once; only what comes at the front begins anew. */
export class Collected<C extends Collector> {
  collector: C;
  readonly #make: () => C;
  #events: readonly SandboxEvent[] = [];
  #added = 0;

  constructor(make: () => C) {
    this.#make = make;
    this.collector = make();
  }

  follow(events: readonly SandboxEvent[]): C {
    if (events !== this.#events) {
      this.#events = events;
      this.#added = 0;
      this.collector = this.#make();
    }
    for (; this.#added < events.length; this.#added += 1) {
      const event = events[this.#added];
      if (event !== undefined) this.collector.add(event);
    }
    return this.collector;
  }
}

/** A collector over a feed. What it holds grows in place: take the feed's `version` where a change must be noticed. */
export function useCollected<C extends Collector>(feed: Feed, make: () => C): C {
  const [collected] = useState(() => new Collected(make));
  return collected.follow(feed.events);
}
