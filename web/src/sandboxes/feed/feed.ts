import type { SandboxEvent } from "@/api/client";

/**
 * A sandbox's events in order and without gaps. It grows at the end as events happen and at the front as older ones are
 * loaded. While it starts in the middle of a long history, the newest events are kept in `tail` until the gap is
 * closed.
 */
export class Feed {
  /** Only appended to in place; prepending creates a new array. */
  events: SandboxEvent[] = [];
  /** The newest events, in order, while there is a gap between them and `events`. */
  tail: SandboxEvent[] = [];
  /** Whether the first event is loaded. */
  isWhole = false;
  /** Incremented on every change. */
  version = 0;
  #watchers = new Set<() => void>();

  get first(): number {
    return this.events[0]?.seq ?? 0;
  }

  get last(): number {
    return this.events.at(-1)?.seq ?? 0;
  }

  /** The number of the newest known event. */
  get newest(): number {
    return this.tail.at(-1)?.seq ?? this.last;
  }

  /** The newest events without a gap, which describe the current state of the sandbox. */
  get end(): { events: readonly SandboxEvent[]; first: number; last: number } {
    const events = this.tail.length > 0 ? this.tail : this.events;
    return { events, first: events[0]?.seq ?? 0, last: events.at(-1)?.seq ?? 0 };
  }

  /** Return the event with this number, if it is loaded. */
  at(seq: number): SandboxEvent | undefined {
    return this.events[seq - this.first];
  }

  /** Append events after the newest one. Return false if there is a gap. */
  append(batch: readonly SandboxEvent[]): boolean {
    return this.#grow(this.tail.length > 0 ? this.tail : this.events, batch);
  }

  /** Start in the middle, with the newest events in the tail. */
  begin(middle: readonly SandboxEvent[], newest: readonly SandboxEvent[]): void {
    this.events = [...middle];
    this.tail = [...newest];
    this.#join();
    this.#changed();
  }

  /** Append events between the middle and the tail. */
  bridge(batch: readonly SandboxEvent[]): void {
    this.#grow(this.events, batch);
    this.#join();
  }

  /** Drop the middle and continue from the newest events; older ones are loaded again page by page. */
  skipToTail(): void {
    if (this.tail.length === 0) return;
    this.events = this.tail;
    this.tail = [];
    this.#changed();
  }

  /** Prepend older events; `batch` is in order and ends right before the first event. */
  prepend(batch: readonly SandboxEvent[]): void {
    const older = this.events.length === 0 ? [...batch] : batch.filter((event) => event.seq < this.first);
    if (older.length === 0) return;
    this.events = older.concat(this.events);
    this.#changed();
  }

  markWhole(): void {
    this.isWhole = true;
    this.#changed();
  }

  watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };

  #grow(events: SandboxEvent[], batch: readonly SandboxEvent[]): boolean {
    const before = events.length;
    let isComplete = true;
    for (const event of batch) {
      const next = (events.at(-1)?.seq ?? event.seq - 1) + 1;
      if (event.seq < next) continue;
      if (event.seq > next) {
        isComplete = false;
        break;
      }
      events.push(event);
    }
    if (events.length > before) this.#changed();
    return isComplete;
  }

  #join(): void {
    if (this.tail.length === 0 || (this.tail[0]?.seq ?? 0) > this.last + 1) return;
    const { tail } = this;
    this.tail = [];
    this.#grow(this.events, tail);
  }

  #changed(): void {
    this.version += 1;
    for (const watcher of this.#watchers) watcher();
  }
}
