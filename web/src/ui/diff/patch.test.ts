// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";
import { filesOf } from "./patch";

describe("the files of a diff", () => {
  it("are named without the a/ and b/ prefixes", () => {
    const [file] = filesOf("--- /dev/null\n+++ b/src/app.py\n@@ -0,0 +1,2 @@\n+a\n+b\n", "k");
    expect(file?.item.fileDiff).toMatchObject({ name: "src/app.py", type: "new" });
    expect(file).toMatchObject({ added: 2, removed: 0, binary: false });
  });

  it("contain a file twice if it was changed twice", () => {
    const once = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    expect(filesOf(once + once, "k").map((file) => file.item.id)).toEqual(["0", "1"]);
  });

  it("include renamed and binary files", () => {
    const files = filesOf(
      "diff --git a/o.py b/n.py\nsimilarity index 100%\nrename from o.py\nrename to n.py\n" +
        "diff --git a/i.png b/i.png\nnew file mode 100644\nBinary files /dev/null and b/i.png differ\n",
      "k",
    );
    expect(files.map((file) => [file.item.fileDiff.name, file.item.fileDiff.type, file.binary])).toEqual([
      ["n.py", "rename-pure", false],
      ["i.png", "new", true],
    ]);
  });

  it("escape bidi controls", () => {
    const [file] = filesOf("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\u202ec\n", "k");
    expect(file?.item.fileDiff.additionLines.join("")).toContain("b\\u202ec");
  });
});
