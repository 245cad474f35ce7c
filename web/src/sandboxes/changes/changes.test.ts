import { describe, expect, it } from "vitest";
import type { SandboxEvent } from "@/api/client";
import { event } from "../sample-events";
import { Changes, byFile, byTurn, filesInDiff, shown, type Change } from "./changes";

const edit = (seq: number, data: Record<string, unknown>) => event(seq, "agent.file_edited", data);

function collect(...events: SandboxEvent[]): Change[] {
  const changes = new Changes();
  for (const each of events) changes.add(each);
  return changes.all;
}

describe("file changes", () => {
  it("accepts events with few fields", () => {
    const [change] = collect(edit(1, {}));
    expect(change).toMatchObject({ path: "(no path)", type: "modified", added: 0, diff: null });
  });

  it("does not treat a truncated diff as complete", () => {
    const [change] = collect(edit(1, { file_path: "a", full_diff: "cut", full_diff_truncated: true }));
    expect(change?.diff).toBeNull();
  });

  it("hides edits after the replay position", () => {
    const all = collect(edit(2, { file_path: "a" }), edit(9, { file_path: "b" }));
    expect(shown(all, all.length, 5, "").map((change) => change.path)).toEqual(["a"]);
  });

  it("finds a file by its old name", () => {
    const all = collect(edit(1, { file_path: "new.py", old_path: "Old.py", change_type: "renamed" }), edit(2, { file_path: "x" }));
    expect(shown(all, all.length, null, "old").map((change) => change.path)).toEqual(["new.py"]);
  });

  it("groups by turn; an edit without a turn stays in place", () => {
    const all = collect(edit(1, { turn: 1 }), edit(2, {}), edit(3, { turn: 2 }));
    expect(byTurn(all).map((turn) => turn.changes.length)).toEqual([2, 1]);
  });

  it("follows a renamed file and adds up its lines", () => {
    const files = byFile(
      collect(
        edit(1, { file_path: "a.py", change_type: "created", lines_added: 5 }),
        edit(2, { file_path: "b.py", old_path: "a.py", change_type: "renamed", lines_added: 1, lines_removed: 2 }),
        edit(3, { file_path: "b.py", change_type: "modified", lines_added: 1 }),
      ),
    );
    expect(files).toHaveLength(1);
    expect(files[0]).toMatchObject({ path: "b.py", oldPath: "a.py", type: "created", added: 7, removed: 2 });
  });

  it("counts a whole session by its diff, not by the sum of its edits", () => {
    const changes = collect(edit(1, { file_path: "a", lines_added: 3 }), edit(2, { file_path: "a", lines_added: 1, lines_removed: 2 }));
    const net = { path: "a", oldPath: null, type: "created", added: 2, removed: 0, binary: false } as const;
    expect(filesInDiff([net], changes, "")).toEqual([{ ...net, changes }]);
    expect(filesInDiff([net], changes, "elsewhere")).toEqual([]);
  });

  it("marks a file as deleted if it is gone at the end", () => {
    const files = byFile(collect(edit(1, { file_path: "a", change_type: "created" }), edit(2, { file_path: "a", change_type: "deleted" })));
    expect(files[0]?.type).toBe("deleted");
  });
});
