import type { SandboxEvent } from "@/api/client";

/** A sandbox's events in their order, without gaps: it grows at the end as they happen, and at the front as they are loaded. */
export class Feed {
  /** Never changed but by growing at its end; growing at the front makes a new one. */
  events: SandboxEvent[] = [];
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

  /** The event with this number, if it has been loaded. */
  at(seq: number): SandboxEvent | undefined {
    return this.events[seq - this.first];
  }

  /** Add what happened after the last event. False when something lies between that is not there. */
  append(batch: readonly SandboxEvent[]): boolean {
    const before = this.events.length;
    let isComplete = true;
    for (const event of batch) {
      const next = this.last + 1;
      if (this.events.length > 0 && event.seq < next) continue;
      if (this.events.length > 0 && event.seq > next) {
        isComplete = false;
        break;
      }
      this.events.push(event);
    }
    if (this.events.length > before) this.#changed();
    return isComplete;
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

  #changed(): void {
    this.version += 1;
    for (const watcher of this.#watchers) watcher();
  }
}
