import { useState } from "react";
import type { Sandbox } from "@/api/client";
import { Button } from "@/ui/button";
import type { Change } from "./changes";
import { DiffPane } from "./diff-pane";
import { editsQuery, sessionDiffQuery } from "./queries";

/** What the run changed in all; while it is replayed, its edits so far. */
export function SessionPane(props: {
  sandbox: Sandbox;
  changes: readonly Change[];
  /** How many changes the run has by now. */
  total: number;
  upTo: number | null;
  path: string | null;
  onBack: () => void;
}) {
  const { sandbox, upTo } = props;
  const isOver = sandbox.ended_at !== null;
  const [seen, setSeen] = useState(props.total);
  const fresh = isOver ? 0 : Math.max(0, props.total - seen);
  if (upTo !== null) {
    return (
      <DiffPane
        title={`Edits up to event ${upTo}, in order`}
        query={editsQuery(sandbox.id, props.changes)}
        fileName={`${sandbox.id}-up-to-${upTo}.diff`}
        path={props.path}
        onBack={props.onBack}
      />
    );
  }
  return (
    <DiffPane
      title={isOver ? "All changes" : "Edits so far, in order"}
      query={sessionDiffQuery(sandbox.id, isOver ? 0 : seen, isOver)}
      fileName={`${sandbox.id}.diff`}
      path={props.path}
      onBack={props.onBack}
      notice={
        fresh === 0 ? null : (
          <p role="status" className="flex items-center justify-center gap-2 border-b bg-info-soft px-2 py-1 text-xs text-info">
            {fresh} newer {fresh === 1 ? "edit" : "edits"}
            <Button size="small" onClick={() => setSeen(props.total)}>
              Show them
            </Button>
          </p>
        )
      }
    />
  );
}
