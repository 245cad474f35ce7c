const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;
const BINARY = /^Binary files (.+) and (.+) differ$/;

/**
 * A unified diff in which every file begins as git begins it, so that parts with and without that line can stand one
 * after the other. Hunks are counted, since a removed line may itself look like the beginning of a file.
 */
export function asGit(patch: string): string {
  const out: string[] = [];
  const lines = patch.split("\n");
  let removed = 0;
  let added = 0;
  let isNamed = false;
  for (const [index, line] of lines.entries()) {
    if (removed > 0 || added > 0) {
      if (line.startsWith("-")) removed -= 1;
      else if (line.startsWith("+")) added -= 1;
      else if (!line.startsWith("\\")) {
        removed -= 1;
        added -= 1;
      }
      out.push(line);
      continue;
    }
    const hunk = HUNK.exec(line);
    const next = lines[index + 1] ?? "";
    if (hunk !== null) {
      removed = Number(hunk[1] ?? 1);
      added = Number(hunk[2] ?? 1);
      isNamed = false;
    } else if (line.startsWith("diff --git ")) {
      isNamed = true;
    } else if (!isNamed && line.startsWith("--- ") && next.startsWith("+++ ")) {
      out.push(...beginning(line.slice(4), next.slice(4)));
      isNamed = true;
    } else if (!isNamed && BINARY.test(line)) {
      const [, before = "", after = ""] = BINARY.exec(line) ?? [];
      out.push(...beginning(before, after));
    }
    out.push(line);
  }
  return out.join("\n");
}

function beginning(before: string, after: string): string[] {
  const [old, now] = [before.replace(/[\t\r].*$/, ""), after.replace(/[\t\r].*$/, "")];
  if (old === "/dev/null") return [`diff --git ${side(now, "a")} ${now}`, "new file mode 100644"];
  if (now === "/dev/null") return [`diff --git ${old} ${side(old, "b")}`, "deleted file mode 100644"];
  return [`diff --git ${old} ${now}`];
}

function side(name: string, letter: "a" | "b"): string {
  return name.replace(/^("?)[ab]\//, `$1${letter}/`);
}
