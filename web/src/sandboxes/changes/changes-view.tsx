import { getRouteApi, useRouter } from "@tanstack/react-router";
import { type RefObject, useMemo, useRef, useState } from "react";
import { cn } from "@/ui/cn";
import { SearchBox } from "@/ui/search-box";
import { Empty } from "@/ui/state";
import { Toggle } from "@/ui/toggle";
import { useMedia } from "@/ui/use-media";
import { useCollected } from "../feed/collected";
import type { ViewProps } from "../view";
import { ChangePane } from "./change-pane";
import { byFile, Changes, shown, type Change } from "./changes";
import { FileList } from "./file-list";
import { Lines } from "./lines";
import { SessionPane } from "./session-pane";
import { TurnList } from "./turn-list";

const route = getRouteApi("/sandbox/$sandboxId");

type Mode = "turns" | "session";
const MODES = [
  { value: "turns", label: "Per turn" },
  { value: "session", label: "Whole session" },
] as const;

/**
 * Files that the agent changed: turn by turn or over the whole session, each with its diff. List and diff stand beside
 * each other, on top of each other where the page has two panes, or one at a time where there is room for one only.
 */
export function ChangesView({ sandbox, feed, upTo }: ViewProps) {
  const { all } = useCollected(feed, () => new Changes());
  const [query, setQuery] = useState("");
  const count = all.length;
  const changes = useMemo(() => shown(all, count, upTo, query), [all, count, upTo, query]);
  const diff = useRef<HTMLDivElement>(null);
  const pane = usePane(changes, diff);
  const { mode, file, open, isOpen, close } = pane;
  const hasRoom = useMedia("(min-width: 48rem)");
  if (all.length === 0) {
    return (
      <Empty title={feed.isWhole ? "No file has been changed" : "Looking for changes"}>
        {sandbox.ended_at === null
          ? "They appear here as the agent makes them."
          : feed.isWhole
            ? "This run ended with every file as it was."
            : "They appear here as the run's events are loaded."}
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
          <ListHeader changes={changes} mode={mode} onMode={pane.setMode} query={query} onQuery={setQuery} />
          <div className="min-h-0 flex-1 overflow-y-auto p-2">
            {changes.length === 0 ? (
              <p className="p-4 text-center text-soft">
                {query === "" ? "Nothing was changed up to this moment of the replay." : "No changed file has this in its path."}
              </p>
            ) : mode === "turns" ? (
              <TurnList sandboxId={sandbox.id} changes={changes} open={open} onOpen={pane.openChange} />
            ) : (
              <FileList changes={changes} open={file} onOpen={pane.openFile} />
            )}
          </div>
        </section>
        <div ref={diff} className={cn("min-h-0 min-w-0", !isOpen && "max-[1100px]:@max-3xl:hidden")}>
          {!hasRoom && !isOpen ? null : mode === "session" ? (
            <SessionPane sandbox={sandbox} changes={changes} total={all.length} upTo={upTo} path={file} onBack={close} />
          ) : open === null ? null : (
            <ChangePane sandbox={sandbox} change={open} onBack={close} />
          )}
        </div>
      </div>
    </div>
  );
}

/** Which diff is shown. The address names a change; where only one pane has room, the way back leads to the list. */
function usePane(changes: readonly Change[], diff: RefObject<HTMLDivElement | null>) {
  const { ev } = route.useSearch();
  const navigate = route.useNavigate();
  const { history } = useRouter();
  /** The change that was opened in place of the list, which stands before it in the browser's history. */
  const overList = useRef<number>(undefined);
  const [mode, setMode] = useState<Mode>("turns");
  const [file, setFile] = useState<string | null>(null);
  const [seen, setSeen] = useState(ev);
  if (ev !== seen) {
    setSeen(ev);
    if (ev !== undefined) setMode("turns");
  }
  const chosen = ev === undefined ? undefined : changes.find((change) => change.seq === ev);
  return {
    mode,
    setMode,
    file,
    open: chosen ?? changes[0] ?? null,
    isOpen: mode === "turns" ? chosen !== undefined : file !== null,
    close() {
      if (mode === "session") setFile(null);
      else if (overList.current === ev) history.back();
      else void navigate({ search: (before) => ({ ...before, ev: undefined }), replace: true });
    },
    openChange(change: Change) {
      const isAlone = diff.current?.checkVisibility() === false;
      if (isAlone) overList.current = change.seq;
      void navigate({ search: (before) => ({ ...before, ev: change.seq }), replace: !isAlone });
    },
    openFile: setFile,
  };
}

function ListHeader(props: {
  changes: readonly Change[];
  mode: Mode;
  onMode: (mode: Mode) => void;
  query: string;
  onQuery: (query: string) => void;
}) {
  const { changes } = props;
  const files = useMemo(() => byFile(changes).length, [changes]);
  return (
    <header className="flex flex-wrap items-center gap-2 border-b p-2">
      <Toggle label="What is listed" value={props.mode} options={MODES} onChange={props.onMode} />
      <SearchBox
        label="Filter by path"
        className="order-last basis-full @lg:order-none @lg:basis-0 @lg:grow @3xl:order-last @3xl:basis-full"
        words={props.query}
        onWords={props.onQuery}
      />
      <span role="status" className="ml-auto flex items-center gap-2 text-xs text-soft">
        {files} {files === 1 ? "file" : "files"}
        <Lines
          added={changes.reduce((sum, change) => sum + change.added, 0)}
          removed={changes.reduce((sum, change) => sum + change.removed, 0)}
          binary={false}
        />
      </span>
    </header>
  );
}
