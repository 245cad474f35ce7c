import { FileCard } from "./file-card";
import type { Change, ChangedFile } from "./changes";

/** Each file once, with its edits. */
export function FileList(props: { files: readonly ChangedFile[]; open: string | null; onOpen: (path: string) => void }) {
  return (
    <ul className="space-y-1.5">
      {props.files.map((file) => (
        <li key={file.path} className="[contain-intrinsic-size:auto_3.5rem] [content-visibility:auto]">
          <FileCard
            file={file}
            isOpen={props.open === file.path}
            onOpen={() => props.onOpen(file.path)}
            note={
              file.changes.length === 0 ? null : (
                <span>
                  {file.changes.length} {file.changes.length === 1 ? "edit" : "edits"}
                  {turns(file.changes)}
                </span>
              )
            }
          />
        </li>
      ))}
    </ul>
  );
}

function turns(changes: readonly Change[]): string {
  const numbers = [...new Set(changes.flatMap((change) => (change.turn === null ? [] : [change.turn])))];
  if (numbers.length === 0) return "";
  return numbers.length > 4 ? ` · turns ${numbers[0]}–${numbers.at(-1)}` : ` · ${numbers.length === 1 ? "turn" : "turns"} ${numbers.join(", ")}`;
}
