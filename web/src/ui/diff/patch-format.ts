const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;
const BINARY = /^Binary files (.+) and (.+) differ$/;

/**
 * Return a unified diff in which every file starts with git's header line, so that parts with and without it can be
 * concatenated. Hunks are counted, because a removed line may look like a file header.
 */
export function asGit(patch: string): string {
  const out: string[] = [];
  let copied = 0;
  let removed = 0;
  let added = 0;
  let isNamed = false;
  const insertAt = (place: number, lines: readonly string[]) => {
    out.push(patch.slice(copied, place), ...lines.map((line) => `${line}\n`));
    copied = place;
  };
  for (let start = 0, end = 0; start < patch.length; start = end + 1) {
    end = endOfLine(patch, start);
    if (removed > 0 || added > 0) {
      const sign = patch[start];
      if (sign !== "+" && sign !== "\\") removed -= 1;
      if (sign !== "-" && sign !== "\\") added -= 1;
      continue;
    }
    const line = patch.slice(start, end);
    const hunk = HUNK.exec(line);
    if (hunk !== null) {
      removed = Number(hunk[1] ?? 1);
      added = Number(hunk[2] ?? 1);
      isNamed = false;
    } else if (line.startsWith("diff --git ")) {
      isNamed = true;
    } else if (!isNamed && line.startsWith("--- ") && patch.startsWith("+++ ", end + 1)) {
      insertAt(start, beginning(line.slice(4), patch.slice(end + 5, endOfLine(patch, end + 1))));
      isNamed = true;
    } else if (!isNamed) {
      const [, before, after] = BINARY.exec(line) ?? [];
      if (before !== undefined && after !== undefined) insertAt(start, beginning(before, after));
    }
  }
  return out.length === 0 ? patch : out.join("") + patch.slice(copied);
}

/** Return the end of the line that starts here. */
function endOfLine(text: string, start: number): number {
  const end = text.indexOf("\n", start);
  return end === -1 ? text.length : end;
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
