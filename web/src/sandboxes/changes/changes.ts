import type { SandboxEvent } from "@/api/client";
import type { FileStat } from "@/ui/diff/diff-stat";

export type ChangeType = "created" | "modified" | "deleted" | "renamed";

/** How a file was changed. */
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

/** One edit of one file. */
export interface Change extends FileFacts {
  seq: number;
  eventId: string;
  at: string;
  tooLarge: boolean;
  size: number | null;
  turn: number | null;
  tool: string | null;
  diffSize: number | null;
  /** The full diff, if the event contains it. */
  diff: string | null;
}

/** The edits of one turn. */
export interface Turn {
  turn: number | null;
  changes: Change[];
}

/** One file with all of its edits. */
export interface ChangedFile extends FileFacts {
  changes: Change[];
}

/** Return the edit that an event reports; null for other events. */
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

/** All edits of a sandbox, in order. */
export class Changes {
  readonly all: Change[] = [];

  add(event: SandboxEvent): void {
    const change = changeOf(event);
    if (change !== null) this.all.push(change);
  }
}

/** Return those of the first `count` edits that are not after an event and whose old or new path contains the query. */
export function shown(all: readonly Change[], count: number, upTo: number | null, query: string): Change[] {
  const wanted = query.trim().toLowerCase();
  return all.slice(0, count).filter(
    (change) =>
      (upTo === null || change.seq <= upTo) &&
      (wanted === "" || `${change.path}\n${change.oldPath ?? ""}`.toLowerCase().includes(wanted)),
  );
}

/** Group edits by turn, oldest first. An edit without a turn belongs to the turn before it. */
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

/** Return each file once, under its final name, in the order of its first edit. */
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
