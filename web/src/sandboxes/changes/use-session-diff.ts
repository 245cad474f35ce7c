import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { Sandbox } from "@/api/client";
import { diffStat, type FileStat } from "@/ui/diff/diff-stat";
import type { Change } from "./changes";
import { editsQuery, sessionDiffQuery, type TextQuery } from "./queries";

export interface SessionDiff {
  title: string;
  query: TextQuery;
  fileName: string;
  /** The files of the diff with its own counts; null until it is loaded. */
  files: readonly FileStat[] | null;
  /** How many edits were made since the diff was loaded. */
  newer: number;
  showNewer: () => void;
}

/** Load what a session changed: its final diff, its edits so far while it runs, or its edits up to a replayed event. */
export function useSessionDiff(props: {
  sandbox: Sandbox;
  /** The edits that are shown. */
  changes: readonly Change[];
  /** How many edits the session has by now. */
  total: number;
  upTo: number | null;
  isEnabled: boolean;
}): SessionDiff {
  const { sandbox, total, upTo } = props;
  const isOver = sandbox.ended_at !== null;
  const [seen, setSeen] = useState(total);
  const query = upTo === null ? sessionDiffQuery(sandbox.id, isOver ? 0 : seen, isOver) : editsQuery(sandbox.id, props.changes);
  const { data } = useQuery({ ...query, enabled: props.isEnabled });
  const files = useMemo(() => (data === undefined ? null : diffStat(data)), [data]);
  return {
    title: upTo !== null ? `Edits up to event ${upTo}, in order` : isOver ? "All changes" : "Edits so far, in order",
    query,
    fileName: upTo === null ? `${sandbox.id}.diff` : `${sandbox.id}-up-to-${upTo}.diff`,
    files,
    newer: isOver || upTo !== null ? 0 : Math.max(0, total - seen),
    showNewer: () => setSeen(total),
  };
}
