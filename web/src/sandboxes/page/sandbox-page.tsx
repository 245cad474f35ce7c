import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import type { Sandbox } from "@/api/client";
import type { View } from "@/search";
import { usePageTitle } from "@/shell/page-title";
import { sentence } from "@/ui/text/sentence";
import { Loading, LoadError } from "@/ui/loading/placeholders";
import { Composer } from "../messages/composer";
import { isRefused } from "../feed/retry";
import { type FeedState, useFeed } from "../feed/use-feed";
import { SignReader } from "../liveness/signs";
import { Header } from "./header";
import { Panes } from "./panes";
import { useRefreshEachTurn } from "./use-refresh-each-turn";
import { useReplay } from "./use-replay";
import { useWide } from "./use-wide";
import { sandboxQuery, taskQuery } from "../queries";
import { ReplayBar } from "../replay/replay-bar";
import { SalvageNote } from "../salvage/salvage-note";
import { TimelineView } from "../timeline/timeline-view";

const route = getRouteApi("/sandbox/$sandboxId");
const BESIDE: readonly View[] = ["changes", "terminal", "details"];
const ALL: readonly View[] = ["timeline", ...BESIDE];

/** One sandbox: its live events, changes, terminal and details, and a form to message its agent. */
export function SandboxPage() {
  const { sandboxId } = route.useParams();
  return <OneSandbox key={sandboxId} sandboxId={sandboxId} />;
}

function OneSandbox({ sandboxId }: { sandboxId: string }) {
  const sandbox = useQuery(sandboxQuery(sandboxId));
  const { ev, t } = route.useSearch();
  const state = useFeed(sandboxId, ev ?? t);
  usePageTitle(sandbox.data?.task_title || sandboxId);
  if (sandbox.isPending) return <Loading what="the sandbox" />;
  if (sandbox.data === undefined) return <LoadError what="The sandbox" error={sandbox.error} retry={() => void sandbox.refetch()} />;
  return <Layout sandbox={sandbox.data} state={state} />;
}

function Layout({ sandbox, state }: { sandbox: Sandbox; state: FeedState }) {
  const { feed, version } = state;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const isWide = useWide();
  const task = useQuery(taskQuery(sandbox.task_id)).data;
  const [reader] = useState(() => new SignReader());
  const signs = reader.sync(feed.end);
  useRefreshEachTurn(sandbox.id, signs);
  const writePlace = useCallback(
    (t: number | undefined) => void navigate({ search: (before) => ({ ...before, t }), replace: true }),
    [navigate],
  );
  const [upTo, setUpTo] = useReplay(search.t, writePlace);
  const viewProps = { sandbox, feed, version, upTo };
  const views = isWide ? BESIDE : ALL;
  const view = search.view !== undefined && views.includes(search.view) ? search.view : views[0]!;
  const isLive = sandbox.ended_at === null;
  const replay = <ReplayBar feed={feed} version={version} upTo={upTo} onChange={setUpTo} isLive={isLive} />;
  const thread = (
    <div className="flex h-full min-h-0 min-w-0 flex-col bg-surface">
      {state.error === null ? null : <FeedError error={state.error} />}
      <div className="min-h-0 flex-1">
        <TimelineView {...viewProps} />
      </div>
      {isWide ? replay : null}
      <Composer sandbox={sandbox} task={task} />
    </div>
  );
  const panes = (
    <Panes
      view={view}
      views={views}
      viewProps={viewProps}
      timeline={thread}
      onView={(next) => void navigate({ search: (before) => ({ ...before, view: next }), replace: true })}
    />
  );
  return (
    <div className="flex h-full min-h-0 flex-col">
      <Header sandbox={sandbox} task={task} signs={signs} />
      <SalvageNote sandbox={sandbox} />
      {isWide ? (
        <div className="grid min-h-0 flex-1 grid-cols-[minmax(0,1fr)_minmax(0,0.85fr)]">
          {thread}
          <div className="min-h-0 min-w-0 border-l">{panes}</div>
        </div>
      ) : (
        <>
          <div className="min-h-0 flex-1">{panes}</div>
          {replay}
        </>
      )}
    </div>
  );
}

function FeedError({ error }: { error: unknown }) {
  const text = isRefused(error) ? sentence(`Some events could not be loaded: ${error.message}`) : "Some events could not be loaded yet. Retrying…";
  return (
    <p role="alert" className="border-b border-warn/30 bg-warn-soft px-3 py-1.5 text-xs text-warn">
      {text}
    </p>
  );
}
