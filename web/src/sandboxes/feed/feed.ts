import type { SandboxEvent } from "@/api/client";

/**
 * A sandbox's events in their order, without gaps: it grows at the end as they happen, and at the front as they are
 * loaded. While it begins in the middle of a long run, the newest events wait in its tail until it has reached them.
 */
export class Feed {
  /** Never changed but by growing at its end; growing at the front makes a new one. */
  events: SandboxEvent[] = [];
  /** The newest events, in order, as long as some between them and the others are missing. */
  tail: SandboxEvent[] = [];
  /** Whether the first event of all is there. */
  isWhole = false;
  /** Grows with every change, so that who shows the events knows when to look again. */
  version = 0;
  #watchers = new Set<() => void>();

  get first(): number {
    return this.events[0]?.seq ?? 0;
  }

  get last(): number {
    return this.events.at(-1)?.seq ?? 0;
  }

  /** The number of the newest event that is known. */
  get newest(): number {
    return this.tail.at(-1)?.seq ?? this.last;
  }

  /** The newest events as far as they are there without a gap: what tells how the sandbox is now. */
  get end(): { events: readonly SandboxEvent[]; first: number; last: number } {
    const events = this.tail.length > 0 ? this.tail : this.events;
    return { events, first: events[0]?.seq ?? 0, last: events.at(-1)?.seq ?? 0 };
  }

  /** The event with this number, if it has been loaded. */
  at(seq: number): SandboxEvent | undefined {
    return this.events[seq - this.first];
  }

  /** Add what happened after the newest event. False when something lies between that is not there. */
  append(batch: readonly SandboxEvent[]): boolean {
    return this.#grow(this.tail.length > 0 ? this.tail : this.events, batch);
  }

  /** Begin in the middle, with the newest events aside. */
  begin(middle: readonly SandboxEvent[], newest: readonly SandboxEvent[]): void {
    this.events = [...middle];
    this.tail = [...newest];
    this.#join();
    this.#changed();
  }

  /** Add what lies between the middle and the tail, in order. */
  bridge(batch: readonly SandboxEvent[]): void {
    this.#grow(this.events, batch);
    this.#join();
  }

  /** Leave the middle and go on from the newest events; what lies before them is loaded anew, as it is in any long run. */
  skipToTail(): void {
    if (this.tail.length === 0) return;
    this.events = this.tail;
    this.tail = [];
    this.#changed();
  }

  /** Add what happened before the first event; `batch` is in order and ends right before it. */
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
