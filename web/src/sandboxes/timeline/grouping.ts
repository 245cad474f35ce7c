import type { SandboxEvent } from "@/api/client";
import { str } from "../event-data";
import { isFailure, maskOf } from "./kinds";

/** What belongs together in one card: a call with all that came of it, heartbeats in a row, or one event. */
export interface Row {
  /** Stays the same for as long as the row is there. */
  readonly id: number;
  readonly kind: "call" | "heartbeats" | "event";
  readonly events: SandboxEvent[];
  /** Of a call: the id by which its parts are known. */
  readonly callId: string | null;
  /** Grows with every change, so that who shows it knows when to look again. */
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
 * Events grouped into rows, in the order of each row's first event.
 *
 * An event that is appended touches one row. Older events are grouped on their own and then joined: what a call in
 * them began may have ended in rows that were there, and heartbeats may go on across the border.
 */
export class Timeline {
  rows: Row[] = [];
  /** How many events of each type are there, and how many of all tell of a failure. */
  counts = new Map<string, number>();
  failures = 0;
  #calls = new Map<string, Row>();
  #changedFrom = 0;
  #first = 0;
  #last = 0;

  /** Take in what a feed has grown by. Calling it again changes nothing. */
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

  /** A feed that begins later than before has nothing to do with the rows that are there. */
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

  /** The place of the first row that changed since this was last asked; the number of rows when none did. */
  takeChanges(): number {
    const from = this.#changedFrom;
    this.#changedFrom = this.rows.length;
    return Math.min(from, this.rows.length);
  }

  /** The place of the row that an event is in; -1 when it is not there. */
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

  /** Give what is here of the calls that `older` began to them; the rows that this empties come back. */
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

/** The rows that stay; heartbeats that now follow each other are one row. */
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

/** The place of the last of sorted items whose number is not above `limit`; -1 when all are. */
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
