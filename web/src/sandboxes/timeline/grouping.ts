import type { SandboxEvent } from "@/api/client";
import { str } from "../event-data";
import { isFailure, maskOf } from "./kinds";

/** The events of one card: a call with its results, consecutive heartbeats, or a single event. */
export interface Row {
  /** Constant for the lifetime of the row. */
  readonly id: number;
  readonly kind: "call" | "heartbeats" | "event";
  readonly events: SandboxEvent[];
  /** The id that the events of a call share. */
  readonly callId: string | null;
  /** Incremented on every change. */
  revision: number;
  /** The kinds of all its events, see `KIND`. */
  mask: number;
}

export const firstOf = (row: Row): number => row.events[0]?.seq ?? 0;

const CALL_PARTS = new Set([
  "agent.tool_use",
  "agent.tool_completed",
  "agent.user_tool_result",
  "agent.file_edited",
  "agent.subagent_invoked",
  "agent.subagent_completed",
  "agent.skill_invoked",
]);

let ids = 0;

/**
 * Groups events into rows, in the order of each row's first event. Appending an event changes one row. Older events are
 * grouped separately and then joined: the results of their calls, and heartbeats that continue, may be in existing
 * rows.
 */
export class Timeline {
  rows: Row[] = [];
  /** The number of events of each type, and of all events that report a failure. */
  counts = new Map<string, number>();
  failures = 0;
  #calls = new Map<string, Row>();
  #changedFrom = 0;
  #first = 0;
  #last = 0;

  /** Add the new events of a feed. Calling it again changes nothing. */
  sync(feed: { events: readonly SandboxEvent[]; first: number; last: number }): void {
    const { events } = feed;
    if (events.length === 0) return;
    if (feed.first > this.#first) this.#clear();
    if (this.#last === 0) {
      this.append(events);
    } else {
      if (feed.first < this.#first) this.prepend(events.slice(0, this.#first - feed.first));
      if (feed.last > this.#last) this.append(events.slice(this.#last + 1 - feed.first));
    }
  }

  /** A feed that starts later than before replaces all rows. */
  #clear(): void {
    this.rows = [];
    this.counts = new Map();
    this.failures = 0;
    this.#calls.clear();
    this.#changedFrom = this.#first = this.#last = 0;
  }

  append(events: readonly SandboxEvent[]): void {
    for (const event of events) this.#add(event);
    this.#first ||= events[0]?.seq ?? 0;
    this.#last = events.at(-1)?.seq ?? this.#last;
  }

  prepend(events: readonly SandboxEvent[]): void {
    if (events.length === 0) return;
    const older = new Timeline();
    older.append(events);
    const moved = this.#join(older);
    if (moved.size > 0) this.rows = withoutMoved(this.rows, moved);
    const [last, first] = [older.rows.at(-1), this.rows[0]];
    if (last?.kind === "heartbeats" && first?.kind === "heartbeats") {
      first.events.unshift(...last.events);
      first.revision += 1;
      older.rows.pop();
    }
    this.rows = older.rows.concat(this.rows);
    for (const [type, amount] of older.counts) this.counts.set(type, (this.counts.get(type) ?? 0) + amount);
    this.failures += older.failures;
    this.#first = older.#first;
    this.#changedFrom = 0;
  }

  /** Return the index of the first row that changed since the last call; the number of rows if none did. */
  takeChanges(): number {
    const from = this.#changedFrom;
    this.#changedFrom = this.rows.length;
    return Math.min(from, this.rows.length);
  }

  /** Return the index of the row that contains an event; -1 if there is none. */
  indexOf(seq: number): number {
    const index = lastAtMost(this.rows, seq, firstOf);
    for (let place = index; place >= 0; place -= 1) {
      if (this.rows[place]?.events.some((event) => event.seq === seq)) return place;
    }
    return -1;
  }

  #add(event: SandboxEvent): void {
    this.counts.set(event.event_type, (this.counts.get(event.event_type) ?? 0) + 1);
    if (isFailure(event)) this.failures += 1;
    const callId = CALL_PARTS.has(event.event_type) ? str(event, "tool_use_id") : null;
    const last = this.rows.at(-1);
    const known = callId === null ? undefined : this.#calls.get(callId);
    if (known !== undefined) {
      this.#extend(known, event, lastAtMost(this.rows, firstOf(known), firstOf));
    } else if (event.event_type === "agent.heartbeat" && last?.kind === "heartbeats") {
      this.#extend(last, event, this.rows.length - 1);
    } else {
      const kind = callId === null ? (event.event_type === "agent.heartbeat" ? "heartbeats" : "event") : "call";
      const row: Row = { id: ++ids, kind, events: [event], callId, revision: 0, mask: maskOf(event) };
      if (callId !== null) this.#calls.set(callId, row);
      this.#changedFrom = Math.min(this.#changedFrom, this.rows.length);
      this.rows.push(row);
    }
  }

  #extend(row: Row, event: SandboxEvent, place: number): void {
    row.events.push(event);
    row.mask |= maskOf(event);
    row.revision += 1;
    this.#changedFrom = Math.min(this.#changedFrom, place);
  }

  /** Move the events of calls that started in `older` to their rows there. Return the rows that are empty now. */
  #join(older: Timeline): Set<Row> {
    const moved = new Set<Row>();
    for (const [callId, row] of older.#calls) {
      const rest = this.#calls.get(callId);
      if (rest !== undefined) {
        row.events.push(...rest.events);
        row.mask |= rest.mask;
        moved.add(rest);
      }
      this.#calls.set(callId, row);
    }
    return moved;
  }
}

/** Return the remaining rows; adjacent heartbeats become one row. */
function withoutMoved(rows: readonly Row[], moved: ReadonlySet<Row>): Row[] {
  const kept: Row[] = [];
  for (const row of rows) {
    const last = kept.at(-1);
    if (moved.has(row)) continue;
    if (row.kind === "heartbeats" && last?.kind === "heartbeats") {
      last.events.push(...row.events);
      last.revision += 1;
    } else {
      kept.push(row);
    }
  }
  return kept;
}

/** Return the index of the last sorted item whose number is at most `limit`; -1 if there is none. */
export function lastAtMost<T>(items: readonly T[], limit: number, number: (item: T) => number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    if (item !== undefined && number(item) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
