import type { Row } from "./grouping";

/** The last search result of each row. Rows only grow, so a match stays a match. */
const known = new WeakMap<Row, { query: string; revision: number; hit: boolean }>();

let compiled: { query: string; pattern: RegExp } | null = null;

/** Match literally, ignoring case. */
function patternOf(query: string): RegExp {
  if (compiled?.query !== query) {
    compiled = { query, pattern: new RegExp(query.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), "i") };
  }
  return compiled.pattern;
}

/** Whether any text in the row's events matches. */
export function matches(row: Row, query: string): boolean {
  if (query === "") return true;
  const before = known.get(row);
  if (before?.query === query && (before.hit || before.revision === row.revision)) return before.hit;
  const pattern = patternOf(query);
  const hit = row.events.some((event) => pattern.test(event.event_type) || has(event.event_data, pattern));
  known.set(row, { query, revision: row.revision, hit });
  return hit;
}

function has(value: unknown, pattern: RegExp): boolean {
  if (typeof value === "string") return pattern.test(value);
  if (typeof value === "number") return pattern.test(String(value));
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some((each) => has(each, pattern));
}
