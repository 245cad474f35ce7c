import type { SandboxEvent } from "@/api/client";
import { changeOf } from "@/sandboxes/changes/changes";
import { FileLink } from "@/sandboxes/changes/file-link";
import { useOpen, useTimelineState } from "../state";

const SHOWN = 8;

/** The files that a call changed. */
export function Edits({ edits }: { edits: readonly SandboxEvent[] }) {
  const [isAll, setAll] = useOpen(`edits:${edits[0]?.seq ?? 0}`);
  return (
    <ul className="mt-0.5 ml-4 flex flex-col gap-0.5">
      {(isAll ? edits : edits.slice(0, SHOWN)).map((edit) => (
        <Edit key={edit.seq} edit={edit} />
      ))}
      {edits.length > SHOWN && !isAll ? (
        <li>
          <button type="button" className="text-xs text-accent underline" onClick={() => setAll(true)}>
            Show {edits.length - SHOWN} more {edits.length - SHOWN === 1 ? "file" : "files"}
          </button>
        </li>
      ) : null}
    </ul>
  );
}

function Edit({ edit }: { edit: SandboxEvent }) {
  const { sandboxId } = useTimelineState();
  const change = changeOf(edit);
  return (
    <li className="min-w-0" data-edit={edit.seq}>
      {change === null ? null : <FileLink change={change} sandboxId={sandboxId} />}
    </li>
  );
}
