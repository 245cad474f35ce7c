import { useState } from "react";
import type { SandboxEvent } from "@/api/client";
import type { Feed } from "./feed";

/** Something that is built from events, one by one. */
export interface Collector {
  add(event: SandboxEvent): void;
}

/** The share of older events, relative to those already added, that triggers a rebuild. */
const SHARE = 0.5;

/**
 * Keeps a collector in step with a feed: each event is added once. Events at the front require a rebuild. While a long
 * history loads page by page, rebuilds are delayed, so that the work grows linearly and not quadratically.
 */
export class FeedCollector<C extends Collector> {
  collector: C;
  readonly #make: () => C;
  /** The numbers of the first event that was added and of the next one to add. */
  #first = 0;
  #next = 0;

  constructor(make: () => C) {
    this.#make = make;
    this.collector = make();
  }

  follow(events: readonly SandboxEvent[], isWhole = false): C {
    const first = events[0]?.seq;
    if (first === undefined) return this.collector;
    const older = this.#first - first;
    if (older < 0 || (older > 0 && (isWhole || older >= (this.#next - this.#first) * SHARE)) || this.#next === 0) {
      this.collector = this.#make();
      this.#first = this.#next = first;
    }
    for (let place = this.#next - first; place < events.length; place += 1) {
      const event = events[place];
      if (event !== undefined) this.collector.add(event);
    }
    this.#next = first + events.length;
    return this.collector;
  }
}

/** Use a collector over a feed. It changes in place: use the feed's `version` to detect changes. */
export function useCollector<C extends Collector>(feed: Feed, make: () => C): C {
  const [collected] = useState(() => new FeedCollector(make));
  return collected.follow(feed.events, feed.isWhole);
}
