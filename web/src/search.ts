/** Search parameters of each page. Invalid values are dropped, so that any link opens. */

type Raw = Record<string, unknown>;

function text(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function whole(value: unknown): number | undefined {
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

function oneOf<T extends string>(value: unknown, known: readonly T[]): T | undefined {
  return known.find((each) => each === value);
}

export const PRIORITIES = ["LOW", "MEDIUM", "HIGH", "CRITICAL"] as const;
export const TICKET_TYPES = ["feature", "bug", "refactor", "docs", "test", "chore"] as const;

export interface BoardSearch {
  project?: string;
  q?: string;
  priority?: (typeof PRIORITIES)[number];
  type?: (typeof TICKET_TYPES)[number];
}

export const boardSearch = (raw: Raw): BoardSearch => ({
  project: text(raw.project),
  q: text(raw.q),
  priority: oneOf(raw.priority, PRIORITIES),
  type: oneOf(raw.type, TICKET_TYPES),
});

export const VIEWS = ["timeline", "terminal", "changes", "details"] as const;
export type View = (typeof VIEWS)[number];
const DIFFS = ["session"] as const;

export interface SandboxSearch {
  view?: View;
  /** The number of an event to show and highlight. */
  ev?: number;
  /** The number of the event at the replay position. */
  t?: number;
  /** The kinds of events to show, separated by commas; all by default. */
  kinds?: string;
  q?: string;
  /** The search text of the terminal. */
  find?: string;
  /** A filter for paths of changed files. */
  path?: string;
  /** `session` shows the diff of the whole session; by default it is shown by turn. */
  diff?: (typeof DIFFS)[number];
  /** The file whose session diff is shown. */
  file?: string;
}

export const sandboxSearch = (raw: Raw): SandboxSearch => ({
  view: oneOf(raw.view, VIEWS),
  ev: whole(raw.ev),
  t: whole(raw.t),
  kinds: text(raw.kinds),
  q: text(raw.q),
  find: text(raw.find),
  path: text(raw.path),
  diff: oneOf(raw.diff, DIFFS),
  file: text(raw.file),
});

export const SANDBOX_STATES = ["creating", "running", "stopping", "stopped", "failed", "lost"] as const;

export interface SandboxesSearch {
  status?: (typeof SANDBOX_STATES)[number];
  project?: string;
  q?: string;
}

export const sandboxesSearch = (raw: Raw): SandboxesSearch => ({
  status: oneOf(raw.status, SANDBOX_STATES),
  project: text(raw.project),
  q: text(raw.q),
});

export const compareSearch = (raw: Raw): { a?: string; b?: string } => ({ a: text(raw.a), b: text(raw.b) });

export const activitySearch = (raw: Raw): { project?: string; kinds?: string } => ({ project: text(raw.project), kinds: text(raw.kinds) });
