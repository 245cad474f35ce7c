import { useState } from "react";
import type { SandboxEvent } from "@/api/client";
import type { Feed } from "./feed";

/** Something that is made from events, one after the other. */
export interface Collector {
  add(event: SandboxEvent): void;
}

/** So much must have come at the front, of what is there, before everything is added anew. */
const SHARE = 0.5;

/**
 * Keeps a collector in step with a feed: each event is added once. What comes at the front makes it begin anew, which is put
 * off while a long run is loaded page by page, so that the work grows with the run and not with its square.
 */
export class FeedCollector<C extends Collector> {
  collector: C;
  readonly #make: () => C;
  /** The numbers of the first event that was added, and of the one to add next. */
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

/** A collector over a feed. What it holds grows in place: take the feed's `version` where a change must be noticed. */
export function useCollector<C extends Collector>(feed: Feed, make: () => C): C {
  const [collected] = useState(() => new FeedCollector(make));
  return collected.follow(feed.events, feed.isWhole);
}
