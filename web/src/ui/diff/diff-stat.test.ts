import { expect, it } from "vitest";
import { diffStat } from "./diff-stat";

const git = (path: string, ...body: string[]) => [`diff --git a/${path} b/${path}`, `--- a/${path}`, `+++ b/${path}`, ...body, ""].join("\n");

it("counts lines by file, and lines that look like headers as lines", () => {
  const patch = git("a.sql", "@@ -1,3 +1,2 @@", "--- dropped", "+++ added", " same", "-x") + git("b.txt", "@@ -0,0 +1 @@", "+one");
  expect(diffStat(patch)).toMatchObject([
    { path: "a.sql", type: "modified", added: 1, removed: 2 },
    { path: "b.txt", added: 1, removed: 0 },
  ]);
});

it("tells new, deleted, renamed and binary files apart", () => {
  const patch = [
    "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+1\n+2\n",
    "diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n",
    "diff --git a/old.txt b/moved.txt\nsimilarity index 100%\nrename from old.txt\nrename to moved.txt\n",
    "diff --git a/p.bin b/p.bin\nnew file mode 100644\nBinary files /dev/null and b/p.bin differ\n",
  ].join("");
  expect(diffStat(patch).map(({ path, type, binary }) => [path, type, binary])).toEqual([
    ["new.txt", "created", false],
    ["gone.txt", "deleted", false],
    ["moved.txt", "renamed", false],
    ["p.bin", "created", true],
  ]);
});

it("adds up the edits of a file in a series, also without git's header lines", () => {
  const edit = "--- a/x.txt\n+++ b/x.txt\n@@ -1 +1,2 @@\n-1\n+one\n+two\n";
  expect(diffStat(edit + edit)).toEqual([{ path: "x.txt", oldPath: null, type: "modified", added: 4, removed: 2, binary: false }]);
});

it("decodes quoted names", () => {
  const patch = 'diff --git "a/\\303\\244 \\"b\\".txt" "b/\\303\\244 \\"b\\".txt"\nnew file mode 100644\n';
  expect(diffStat(patch)).toMatchObject([{ path: 'ä "b".txt', type: "created" }]);
});

it("finds nothing in an empty diff", () => {
  expect(diffStat("")).toEqual([]);
});
