import { parsePatchFiles, type CodeViewDiffItem } from "@pierre/diffs";
import { escapeControlsInDiff } from "../text/control-characters";
import { asGit } from "./patch-format";

export interface PatchFile {
  item: CodeViewDiffItem;
  added: number;
  removed: number;
  binary: boolean;
}

const BINARY = /^(?:Binary files .* differ|GIT binary patch)$/m;
const FILE = /^(?=diff --git )/m;

/** Parse a unified diff for display. `key` identifies the text. */
export function filesOf(patch: string, key: string): PatchFile[] {
  const safe = asGit(escapeControlsInDiff(patch));
  const binary = binaryNames(safe);
  const parsed = parsePatchFiles(safe, { cacheKeyPrefix: key, disableLineMatching: safe.length > 200_000 });
  return parsed
    .flatMap((part) => part.files)
    .map((fileDiff, index) => {
      let added = 0;
      let removed = 0;
      for (const hunk of fileDiff.hunks) {
        added += hunk.additionLines;
        removed += hunk.deletionLines;
      }
      const item: CodeViewDiffItem = { id: `${index}`, type: "diff", fileDiff, version: 0, collapsed: false };
      return { item, added, removed, binary: fileDiff.hunks.length === 0 && binary.has(fileDiff.name) };
    });
}

/** File content is prefixed, so only git itself writes this at the start of a line. */
function binaryNames(patch: string): Set<string> {
  const names = new Set<string>();
  if (!BINARY.test(patch)) return names;
  for (const part of patch.split(FILE)) {
    const name = /^diff --git .* "?b\/(.+?)"?$/m.exec(part.slice(0, part.indexOf("\n")))?.[1];
    if (name !== undefined && BINARY.test(part)) names.add(name);
  }
  return names;
}
