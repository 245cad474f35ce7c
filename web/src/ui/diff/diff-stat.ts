/** What a unified diff does to one file. */
export interface FileStat {
  path: string;
  oldPath: string | null;
  type: "created" | "modified" | "deleted" | "renamed";
  added: number;
  removed: number;
  binary: boolean;
}

const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;
const NOTHING = "/dev/null";

/**
 * Count the lines that a unified diff adds and removes, by file.
 *
 * A file that appears more than once, as in a series of edits, is counted once with the sum. Lines inside a hunk are
 * counted down by its header, because a removed line may itself look like a header.
 */
export function diffStat(patch: string): FileStat[] {
  const files = new Map<string, FileStat>();
  let file: FileStat | null = null;
  let [removedLeft, addedLeft] = [0, 0];
  const finish = () => {
    if (file !== null) merge(files, file);
    file = null;
  };
  for (const line of lines(patch)) {
    if (removedLeft > 0 || addedLeft > 0) {
      const sign = line[0];
      if (sign === "\\") continue;
      if (sign !== "+") removedLeft -= 1;
      if (sign !== "-") addedLeft -= 1;
      if (file !== null && sign === "+") file.added += 1;
      if (file !== null && sign === "-") file.removed += 1;
      continue;
    }
    const hunk = HUNK.exec(line);
    if (hunk !== null) {
      [removedLeft, addedLeft] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)];
      continue;
    }
    if (line.startsWith("diff --git ") || (line.startsWith("--- ") && (file === null || isComplete(file)))) {
      finish();
      file = { path: pathInHeader(line), oldPath: null, type: "modified", added: 0, removed: 0, binary: false };
    }
    if (file !== null) read(file, line);
  }
  finish();
  return [...files.values()];
}

/** Apply one line of a file's header. */
function read(file: FileStat, line: string): void {
  if (line.startsWith("--- ")) {
    if (nameOf(line) === NOTHING) file.type = "created";
    else file.path = withoutSide(nameOf(line));
  } else if (line.startsWith("+++ ")) {
    if (nameOf(line) === NOTHING) file.type = "deleted";
    else file.path = withoutSide(nameOf(line));
  } else if (line.startsWith("new file mode")) file.type = "created";
  else if (line.startsWith("deleted file mode")) file.type = "deleted";
  else if (line.startsWith("rename from ")) {
    file.type = "renamed";
    file.oldPath = unquoted(line.slice("rename from ".length));
  } else if (line.startsWith("rename to ")) file.path = unquoted(line.slice("rename to ".length));
  else if (line.startsWith("Binary files ") || line === "GIT binary patch") file.binary = true;
}

/** Whether a file without a `diff --git` line has had its hunks, so that the next `---` starts another one. */
function isComplete(file: FileStat): boolean {
  return file.added + file.removed > 0;
}

function merge(files: Map<string, FileStat>, file: FileStat): void {
  const before = files.get(file.oldPath ?? file.path) ?? files.get(file.path);
  if (before === undefined) {
    files.set(file.path, file);
    return;
  }
  files.delete(before.path);
  const type = before.type === "created" && file.type !== "deleted" ? "created" : file.type;
  const oldPath = before.oldPath ?? file.oldPath;
  files.set(file.path, { ...file, oldPath, type, added: before.added + file.added, removed: before.removed + file.removed });
}

function* lines(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf("\n", start);
    yield text.slice(start, end === -1 ? text.length : end);
    if (end === -1) return;
    start = end + 1;
  }
}

/** The new name in `diff --git a/x b/x`; both names are the same unless a rename says otherwise. */
function pathInHeader(line: string): string {
  const names = line.slice("diff --git ".length);
  const quoted = /"((?:[^"\\]|\\.)*)"$/.exec(names);
  if (quoted !== null) return withoutSide(unquoted(quoted[0]));
  return withoutSide(names.slice((names.length + 1) / 2));
}

function nameOf(line: string): string {
  return unquoted(line.slice(4).replace(/[\t\r].*$/, ""));
}

function withoutSide(name: string): string {
  return name.replace(/^[ab]\//, "");
}

const ESCAPES: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, "\\": 92 };

/** Decode a name as git quotes it: C escapes, with bytes of UTF-8 in octal. */
function unquoted(name: string): string {
  if (!name.startsWith('"') || !name.endsWith('"')) return name;
  const bytes: number[] = [];
  for (const [, octal, escape, rest] of name.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gs)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else if (escape !== undefined) bytes.push(ESCAPES[escape] ?? escape.charCodeAt(0));
    else bytes.push(...new TextEncoder().encode(rest));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}
