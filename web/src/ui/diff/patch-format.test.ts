import { describe, expect, it } from "vitest";
import { asGit } from "./patch-format";

describe("a diff in git's format", () => {
  it("adds the header line of a new file", () => {
    expect(asGit("--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@\n+a\n")).toBe(
      "diff --git a/x.py b/x.py\nnew file mode 100644\n--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@\n+a\n",
    );
  });

  it("keeps existing header lines", () => {
    const patch = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    expect(asGit(patch)).toBe(patch);
  });

  it("does not mistake removed and added lines for file headers", () => {
    const patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- a/evil\n+++ b/evil\n";
    expect(asGit(patch)).toBe(patch);
  });

  it("separates concatenated files", () => {
    const both = asGit("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n");
    expect(both.match(/^diff --git .*$/gm)).toEqual(["diff --git a/x b/x", "diff --git a/y b/y"]);
  });

  it("adds the header line of a binary file", () => {
    expect(asGit("Binary files a/i.png and b/i.png differ\n")).toContain("diff --git a/i.png b/i.png\n");
  });
});
