import { Link } from "@tanstack/react-router";
import type { SandboxEvent } from "@/api/client";
import { plain } from "@/ui/ansi-text";
import { num, str } from "../../payload";
import { useOpen, useTimelineState } from "../state";

const SHOWN = 8;

/** The files that a call changed, each with what it gained and lost. */
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
            and {edits.length - SHOWN} more files
          </button>
        </li>
      ) : null}
    </ul>
  );
}

function Edit({ edit }: { edit: SandboxEvent }) {
  const { sandboxId } = useTimelineState();
  const path = plain(str(edit, "file_path") ?? "a file");
  const [added, removed] = [num(edit, "lines_added") ?? 0, num(edit, "lines_removed") ?? 0];
  return (
    <li className="flex min-w-0 items-baseline gap-2 text-xs" data-edit={edit.seq}>
      <span className="text-faint">{plain(str(edit, "change_type") ?? "changed")}</span>
      <Link
        to="/sandbox/$sandboxId"
        params={{ sandboxId }}
        search={(before) => ({ ...before, view: "changes" as const, ev: edit.seq })}
        className="min-w-0 truncate font-mono text-accent hover:underline"
        title={`See how ${path} changed`}
      >
        {path}
      </Link>
      <span className="shrink-0 font-mono tabular-nums">
        <span className="text-good">+{added}</span> <span className="text-bad">−{removed}</span>
      </span>
    </li>
  );
}
