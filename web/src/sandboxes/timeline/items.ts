import { isSmall } from "./call";
import { firstOf, lastAtMost, type Row, type Timeline } from "./grouping";
import { ALL_KINDS } from "./kinds";
import { matches } from "./search";

/** One item of the list: a row, or a group of minor calls with the rows between them. */
export interface Item {
  readonly key: number;
  readonly rows: readonly Row[];
  readonly isRun: boolean;
  /** The index of its first row. */
  readonly start: number;
}

export interface Filter {
  mask: number;
  query: string;
}

const SHORTEST_RUN = 3;
const LONGEST_RUN = 100;
const LOOK_AT_CLOCK = 64;
/** The most rows between two minor calls of one group. */
const MOST_BETWEEN = 8;

/** The visible items of a timeline. An update rebuilds them from the first changed row on. */
export class VisibleItems {
  items: Item[] = [];
  /** Whether every row was searched; a long search takes several frames. */
  isComplete = true;
  #filter: Filter = { mask: ALL_KINDS, query: "" };
  /** The index of the first row that was not searched yet. */
  #next = 0;

  /** Update the items for the rows and the filter; stop after `budget` milliseconds. */
  sync(timeline: Timeline, filter: Filter, budget = Infinity): void {
    const changed = Math.min(timeline.takeChanges(), this.#next);
    const isSame = filter.mask === this.#filter.mask && filter.query === this.#filter.query;
    this.#filter = filter;
    const { rows } = timeline;
    const hasRuns = filter.mask === ALL_KINDS && filter.query === "";
    const start = this.#rewind(isSame ? changed : 0, hasRuns);
    if (hasRuns) fold(this.items, rows, start);
    this.#next = hasRuns ? rows.length : select(this.items, rows, start, filter, performance.now() + budget);
    this.isComplete = this.#next === rows.length;
  }

  /** Return the number of items that start at or before an event. */
  countUpTo(seq: number): number {
    return lastAtMost(this.items, seq, firstOfItem) + 1;
  }

  /** Return the index of the item that shows a row; of a hidden row, the item before it. */
  indexOfRow(place: number): number {
    return lastAtMost(this.items, place, (item) => item.start);
  }

  /** Drop the items that a change at a row may affect. Return the row to continue from. */
  #rewind(changed: number, hasRuns: boolean): number {
    let keep = lastAtMost(this.items, changed, (item) => item.start);
    if (keep < 0) {
      this.items.length = 0;
      return 0;
    }
    if (!contains(this.items[keep], changed)) keep += 1;
    if (hasRuns) keep = this.#startOfRun(keep);
    const start = keep < this.items.length ? (this.items[keep]?.start ?? changed) : changed;
    this.items.length = keep;
    return Math.min(start, changed);
  }

  /** Return the first item that may join a group with the one at this index. */
  #startOfRun(place: number): number {
    let keep = place;
    let between = 0;
    while (keep > 0 && between <= MOST_BETWEEN) {
      const before = this.items[keep - 1];
      if (before === undefined || isBarrier(before)) break;
      keep -= 1;
      if (before.isRun) break;
      between = isGlue(before.rows[0]) ? between + 1 : 0;
    }
    return keep;
  }
}

export const firstOfItem = (item: Item): number => (item.rows[0] === undefined ? 0 : firstOf(item.rows[0]));

function contains(item: Item | undefined, place: number): boolean {
  return item !== undefined && place < item.start + item.rows.length;
}

function isGlue(row: Row | undefined): boolean {
  if (row === undefined || row.kind === "call") return false;
  if (row.kind === "heartbeats") return true;
  const event = row.events[0];
  return event?.event_type === "agent.assistant_message" && typeof event.event_data.error !== "string";
}

function isBarrier(item: Item): boolean {
  if (item.isRun) return item.rows.filter(isSmall).length >= LONGEST_RUN;
  const row = item.rows[0];
  return row !== undefined && !isGlue(row) && !isSmall(row);
}

function fold(items: Item[], rows: readonly Row[], from: number): void {
  let place = from;
  while (place < rows.length) {
    const end = runFrom(rows, place);
    const part = rows.slice(place, end);
    items.push({ key: part[0]?.id ?? 0, rows: part, isRun: part.length > 1, start: place });
    place = end;
  }
}

/** Return where the group that starts at this index ends; the next index if none starts. */
function runFrom(rows: readonly Row[], place: number): number {
  let [small, between, end] = [0, 0, place];
  for (let next = place; next < rows.length && small < LONGEST_RUN; next += 1) {
    const row = rows[next];
    if (row !== undefined && isSmall(row)) {
      small += 1;
      between = 0;
      end = next + 1;
    } else if (next > place && isGlue(row) && between < MOST_BETWEEN) {
      between += 1;
    } else {
      break;
    }
  }
  return small >= SHORTEST_RUN ? end : place + 1;
}

/** Append the rows that match the filter until the deadline. Return the row to continue from. */
function select(items: Item[], rows: readonly Row[], from: number, filter: Filter, deadline: number): number {
  for (let place = from; place < rows.length; place += 1) {
    if (place % LOOK_AT_CLOCK === 0 && place > from && performance.now() > deadline) return place;
    const row = rows[place];
    if (row === undefined || (row.mask & filter.mask) === 0 || !matches(row, filter.query)) continue;
    items.push({ key: row.id, rows: [row], isRun: false, start: place });
  }
  return rows.length;
}
