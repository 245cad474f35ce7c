import { getRouteApi, useRouter } from "@tanstack/react-router";
import { type RefObject, useMemo, useRef } from "react";
import type { SandboxSearch } from "@/search";
import { cn } from "@/ui/cn";
import { SearchBox } from "@/ui/form/search-box";
import { Empty } from "@/ui/loading/placeholders";
import { Toggle } from "@/ui/form/toggle";
import { useMedia } from "@/ui/hooks/use-media";
import { useCollector } from "../feed/collector";
import type { ViewProps } from "../page/view";
import { ChangePane } from "./change-pane";
import { byFile, Changes, filesInDiff, shown, type Change, type ChangedFile } from "./changes";
import { FileList } from "./file-list";
import { Lines } from "./lines";
import { SessionPane } from "./session-pane";
import { TurnList } from "./turn-list";
import { useSessionDiff } from "./use-session-diff";

const route = getRouteApi("/sandbox/$sandboxId");

type Mode = "turns" | "session";
const MODES = [
  { value: "turns", label: "Per turn" },
  { value: "session", label: "Whole session" },
] as const;

/**
 * Files that the agent changed, by turn or for the whole session, each with its diff. List and diff are side by side,
 * stacked where the page has two panes, or one at a time on narrow screens.
 */
export function ChangesView({ sandbox, feed, upTo }: ViewProps) {
  const { all } = useCollector(feed, () => new Changes());
  const { path: query = "" } = route.useSearch();
  const count = all.length;
  const changes = useMemo(() => shown(all, count, upTo, query), [all, count, upTo, query]);
  const diff = useRef<HTMLDivElement>(null);
  const pane = usePane(changes, diff);
  const { mode, file, open, isOpen, close } = pane;
  const hasRoom = useMedia("(min-width: 48rem)");
  const session = useSessionDiff({ sandbox, changes, total: all.length, upTo, isEnabled: mode === "session" });
  const files = useMemo(
    () => (mode === "turns" || session.files === null ? byFile(changes) : filesInDiff(session.files, changes, query)),
    [mode, session.files, changes, query],
  );
  if (all.length === 0) {
    return (
      <Empty title={feed.isWhole ? "No files changed" : "Loading changes"}>
        {sandbox.ended_at === null
          ? "Changes appear here as the agent makes them."
          : feed.isWhole
            ? "The sandbox ended without changing a file."
            : "Changes appear here as events are loaded."}
      </Empty>
    );
  }
  return (
    <div className="@container h-full min-h-0">
      <div className="grid h-full min-h-0 grid-cols-1 min-[1100px]:grid-rows-[minmax(9rem,36%)_minmax(0,1fr)] @3xl:grid-cols-[minmax(16rem,22rem)_1fr] @3xl:grid-rows-[minmax(0,1fr)]">
        <section
          aria-label="Changed files"
          className={cn("flex min-h-0 flex-col min-[1100px]:border-b @3xl:border-r @3xl:border-b-0", isOpen && "max-[1100px]:@max-3xl:hidden")}
        >
          <ListHeader files={files} mode={mode} onMode={pane.setMode} query={query} onQuery={pane.setPath} />
          <div className="min-h-0 flex-1 overflow-y-auto p-2">
            {changes.length === 0 ? (
              <p className="p-4 text-center text-soft">
                {query === "" ? "No files changed up to this point of the replay." : "No changed file matches this path."}
              </p>
            ) : mode === "turns" ? (
              <TurnList sandboxId={sandbox.id} changes={changes} open={open} onOpen={pane.openChange} />
            ) : (
              <FileList files={files} open={file} onOpen={pane.openFile} />
            )}
          </div>
        </section>
        <div ref={diff} className={cn("min-h-0 min-w-0", !isOpen && "max-[1100px]:@max-3xl:hidden")}>
          {!hasRoom && !isOpen ? null : mode === "session" ? (
            <SessionPane diff={session} path={file} onBack={close} />
          ) : open === null ? null : (
            <ChangePane sandbox={sandbox} change={open} onBack={close} />
          )}
        </div>
      </div>
    </div>
  );
}

/** Read and write the selected diff in the address. On narrow screens, Back leads to the list. */
function usePane(changes: readonly Change[], diff: RefObject<HTMLDivElement | null>) {
  const { ev, diff: listed, file } = route.useSearch();
  const mode: Mode = listed ?? "turns";
  const navigate = route.useNavigate();
  const { history } = useRouter();
  const opened = mode === "turns" ? ev : file;
  /** The diff that was opened over the list; the list precedes it in the browser's history. */
  const overList = useRef<number | string>(undefined);
  const write = (what: Partial<SandboxSearch>, replace = true) =>
    void navigate({ search: (before) => ({ ...before, ...what }), replace });
  const open = (place: number | string, what: Partial<SandboxSearch>) => {
    const isAlone = diff.current?.checkVisibility() === false;
    if (isAlone) overList.current = place;
    write(what, !isAlone);
  };
  const chosen = ev === undefined ? undefined : changes.find((change) => change.seq === ev);
  return {
    mode,
    setMode: (next: Mode) => write({ diff: next === "session" ? next : undefined, file: undefined }),
    setPath: (path: string) => write({ path: path || undefined }),
    file: file ?? null,
    open: chosen ?? changes[0] ?? null,
    isOpen: mode === "turns" ? chosen !== undefined : file !== undefined,
    close() {
      if (opened !== undefined && overList.current === opened) history.back();
      else write(mode === "turns" ? { ev: undefined } : { file: undefined });
    },
    openChange: (change: Change) => open(change.seq, { ev: change.seq }),
    openFile: (path: string) => open(path, { file: path }),
  };
}

function ListHeader(props: {
  files: readonly ChangedFile[];
  mode: Mode;
  onMode: (mode: Mode) => void;
  query: string;
  onQuery: (query: string) => void;
}) {
  const { files } = props;
  return (
    <header className="flex flex-wrap items-center gap-2 border-b p-2">
      <Toggle label="Group changes" value={props.mode} options={MODES} onChange={props.onMode} />
      <SearchBox
        label="Filter by path"
        className="order-last basis-full @lg:order-none @lg:basis-0 @lg:grow @3xl:order-last @3xl:basis-full"
        words={props.query}
        onWords={props.onQuery}
      />
      <span role="status" className="ml-auto flex items-center gap-2 text-xs text-soft">
        {files.length} {files.length === 1 ? "file" : "files"}
        <Lines
          added={files.reduce((sum, file) => sum + file.added, 0)}
          removed={files.reduce((sum, file) => sum + file.removed, 0)}
          binary={false}
        />
      </span>
    </header>
  );
}
