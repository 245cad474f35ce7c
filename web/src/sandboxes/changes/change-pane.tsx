import type { Sandbox } from "@/api/client";
import { escapeControls } from "@/ui/text/control-characters";
import type { Change } from "./changes";
import { DiffPane } from "./diff-pane";
import { changeDiffQuery } from "./queries";

/** The full diff of one edit. */
export function ChangePane({ sandbox, change, onBack }: { sandbox: Sandbox; change: Change; onBack: () => void }) {
  return (
    <DiffPane
      title={
        <>
          {change.turn === null ? "" : `Turn ${change.turn} · `}
          <span className="font-mono">{escapeControls(change.path)}</span>
        </>
      }
      query={changeDiffQuery(sandbox.id, change)}
      fileName={`${sandbox.id}-${change.seq}.diff`}
      path={null}
      onBack={onBack}
    />
  );
}
