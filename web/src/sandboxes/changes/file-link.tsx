import { useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { escapeControls } from "@/ui/text/control-characters";
import { preloadDiff } from "@/ui/diff/diff";
import { ChangeTypeBadge } from "./change-type";
import type { Change } from "./changes";
import { Lines } from "./lines";
import { changeDiffQuery } from "./queries";

/** A link from a changed file to its diff. */
export function FileLink({ change, sandboxId }: { change: Change; sandboxId: string }) {
  const queries = useQueryClient();
  const isHere = useParams({ strict: false }).sandboxId === sandboxId;
  /** Prefetch the diff and its viewer: a pointer over the link usually precedes a click. */
  const prepare = () => {
    preloadDiff();
    import("./changes-view").catch(() => undefined);
    void queries.prefetchQuery(changeDiffQuery(sandboxId, change));
  };
  return (
    <Link
      onPointerEnter={prepare}
      onFocus={prepare}
      to="/sandbox/$sandboxId"
      params={{ sandboxId }}
      // Other pages use the same parameters for other things.
      search={(before) => ({ ...(isHere ? before : {}), view: "changes" as const, ev: change.seq, diff: undefined, file: undefined })}
      title={`Show changes to ${escapeControls(change.path)}`}
      className="flex max-w-2xl flex-wrap items-center gap-x-2 gap-y-0.5 rounded-md border bg-surface px-2 py-0.5 hover:border-accent"
    >
      <ChangeTypeBadge type={change.type} />
      <span className="min-w-0 flex-1 font-mono text-xs [overflow-wrap:anywhere]">
        {change.oldPath === null ? null : <span className="text-soft">{escapeControls(change.oldPath)} → </span>}
        {escapeControls(change.path)}
      </span>
      <Lines {...change} />
    </Link>
  );
}
