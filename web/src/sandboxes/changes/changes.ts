import type { SandboxEvent } from "@/api/client";
import type { FileStat } from "@/ui/diff/diff-stat";

export type ChangeType = "created" | "modified" | "deleted" | "renamed";

/** What became of a file. */
export interface FileFacts {
  path: string;
  oldPath: string | null;
  type: ChangeType;
  added: number;
  removed: number;
  binary: boolean;
  tooLarge?: boolean;
  size?: number | null;
}

/** One change of one file. */
export interface Change extends FileFacts {
  seq: number;
  eventId: string;
  at: string;
  tooLarge: boolean;
  size: number | null;
  turn: number | null;
  tool: string | null;
  diffSize: number | null;
  /** The whole diff, where the event carries it. */
  diff: string | null;
}

/** The changes of one turn of the agent. */
export interface Turn {
  turn: number | null;
  changes: Change[];
}

/** What became of one file over many changes. */
export interface ChangedFile extends FileFacts {
  changes: Change[];
}

/** What an event tells of a changed file; null when it is of another sort. */
export function changeOf(event: SandboxEvent): Change | null {
  if (!event.known || event.event_type !== "agent.file_edited") return null;
  const { event_data: data } = event;
  return {
    seq: event.seq,
    eventId: event.event_id,
    at: event.occurred_at,
    path: data.file_path ?? "(no path)",
    oldPath: data.old_path ?? null,
    type: data.change_type ?? "modified",
    added: data.lines_added ?? 0,
    removed: data.lines_removed ?? 0,
    binary: data.binary ?? false,
    tooLarge: data.too_large ?? false,
    size: data.size ?? null,
    turn: data.turn ?? null,
    tool: data.tool ?? null,
    diffSize: data.diff_size ?? null,
    diff: data.full_diff_truncated === true ? null : (data.full_diff ?? null),
  };
}

/** All changes of a run, in order. */
export class Changes {
  readonly all: Change[] = [];

  add(event: SandboxEvent): void {
    const change = changeOf(event);
    if (change !== null) this.all.push(change);
  }
}

/** Of the first `count`: those up to an event, and whose path, old or new, has what is looked for. */
export function shown(all: readonly Change[], count: number, upTo: number | null, query: string): Change[] {
  const wanted = query.trim().toLowerCase();
  return all.slice(0, count).filter(
    (change) =>
      (upTo === null || change.seq <= upTo) &&
      (wanted === "" || `${change.path}\n${change.oldPath ?? ""}`.toLowerCase().includes(wanted)),
  );
}

/** Newest turn last; a change without a turn belongs to the one before it. */
export function byTurn(changes: readonly Change[]): Turn[] {
  const turns: Turn[] = [];
  for (const change of changes) {
    const last = turns.at(-1);
    if (last === undefined || (change.turn !== null && change.turn !== last.turn)) {
      turns.push({ turn: change.turn, changes: [change] });
    } else {
      last.changes.push(change);
    }
  }
  return turns;
}

/** Each file once, under the name that it has at the end, in the order of its first change. */
export function byFile(changes: readonly Change[]): ChangedFile[] {
  const files = new Map<string, ChangedFile>();
  for (const change of changes) {
    const before = files.get(change.oldPath ?? change.path) ?? files.get(change.path);
    if (before === undefined) {
      const { path, oldPath, type, added, removed, binary } = change;
      files.set(path, { path, oldPath, type, added, removed, binary, changes: [change] });
      continue;
    }
    if (before.path !== change.path) {
      files.delete(before.path);
      before.oldPath ??= before.path;
      before.path = change.path;
      files.set(change.path, before);
    }
    before.type = combined(before.type, change.type);
    before.added += change.added;
    before.removed += change.removed;
    before.binary ||= change.binary;
    before.changes.push(change);
  }
  return [...files.values()];
}

/** Return the files of a session's diff with the diff's own counts, each with the edits that led there. */
export function filesInDiff(stats: readonly FileStat[], changes: readonly Change[], query: string): ChangedFile[] {
  const wanted = query.trim().toLowerCase();
  const edited = new Map(byFile(changes).map((file) => [file.path, file.changes]));
  return stats
    .filter(({ path, oldPath }) => wanted === "" || `${path}\n${oldPath ?? ""}`.toLowerCase().includes(wanted))
    .map((stat) => ({ ...stat, changes: edited.get(stat.path) ?? [] }));
}

function combined(before: ChangeType, now: ChangeType): ChangeType {
  if (now === "deleted") return "deleted";
  if (before === "created") return "created";
  if (before === "deleted") return "modified";
  return before === "renamed" || now === "renamed" ? "renamed" : now === "created" ? "modified" : now;
}
