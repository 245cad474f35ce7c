import { Button } from "@/ui/button";
import { DiffPane } from "./diff-pane";
import type { SessionDiff } from "./use-session-diff";

/** The diff of the whole session; while it is replayed, its edits so far. */
export function SessionPane({ diff, path, onBack }: { diff: SessionDiff; path: string | null; onBack: () => void }) {
  const { newer } = diff;
  return (
    <DiffPane
      title={diff.title}
      query={diff.query}
      fileName={diff.fileName}
      path={path}
      onBack={onBack}
      notice={
        newer === 0 ? null : (
          <p role="status" className="flex items-center justify-center gap-2 border-b bg-info-soft px-2 py-1 text-xs text-info">
            {newer} newer {newer === 1 ? "edit" : "edits"}
            <Button size="small" onClick={diff.showNewer}>
              Show newer edits
            </Button>
          </p>
        )
      }
    />
  );
}
