import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { cn } from "@/ui/cn";
import { Input } from "@/ui/field";
import { Empty } from "@/ui/state";
import { Toggle } from "@/ui/toggle";
import { useCollected } from "../feed/collected";
import type { ViewProps } from "../view";
import { Changes, byFile, shown } from "./changes";
import { FileList } from "./file-list";
import { Lines } from "./lines";
import { ChangePane } from "./change-pane";
import { SessionPane } from "./session-pane";
import { TurnList } from "./turn-list";

const route = getRouteApi("/sandbox/$sandboxId");

type Mode = "turns" | "session";
const MODES = [
  { value: "turns", label: "Per turn" },
  { value: "session", label: "Whole session" },
] as const;

/** Files that the agent changed: turn by turn or over the whole session, each with its diff. */
export function ChangesView({ sandbox, feed, upTo }: ViewProps) {
  const { ev, view } = route.useSearch();
  const navigate = route.useNavigate();
  const { all } = useCollected(feed, () => new Changes());
  const [mode, setMode] = useState<Mode>("turns");
  const [query, setQuery] = useState("");
  const [file, setFile] = useState<string | null>(null);
  const [isPaneOpen, setPaneOpen] = useState(ev !== undefined);
  const [asked, setAsked] = useState(ev);
  if (ev !== asked) {
    setAsked(ev);
    // A file that is chosen elsewhere, as in the timeline, is opened here.
    if (ev !== undefined && view === "changes") {
      setMode("turns");
      setPaneOpen(true);
    }
  }
  const count = all.length;
  const changes = useMemo(() => shown(all, count, upTo, query), [all, count, upTo, query]);
  const files = useMemo(() => byFile(changes), [changes]);
  const chosen = ev === undefined ? undefined : changes.find((change) => change.seq === ev);
  const open = chosen ?? (query === "" ? changes[0] : undefined) ?? changes[0] ?? null;

  if (all.length === 0) {
    return (
      <Empty title={feed.isWhole ? "No file has been changed" : "Looking for changes"}>
        {sandbox.ended_at === null ? "They appear here as the agent makes them." : "This run ended without touching a file."}
      </Empty>
    );
  }
  return (
    <div className="@container h-full min-h-0">
      <div className="grid h-full min-h-0 grid-cols-1 @3xl:grid-cols-[minmax(16rem,22rem)_1fr]">
        <section
          aria-label="Changed files"
          className={cn("flex min-h-0 flex-col @3xl:border-r", isPaneOpen && "@max-3xl:hidden")}
        >
          <header className="space-y-2 border-b p-2">
            <div className="flex flex-wrap items-center justify-between gap-2">
              <Toggle label="What is listed" value={mode} options={MODES} onChange={setMode} />
              <span role="status" className="flex items-center gap-2 text-xs text-soft">
                {files.length} {files.length === 1 ? "file" : "files"}
                <Lines
                  added={changes.reduce((sum, change) => sum + change.added, 0)}
                  removed={changes.reduce((sum, change) => sum + change.removed, 0)}
                  binary={false}
                />
              </span>
            </div>
            <Input
              type="search"
              aria-label="Filter by path"
              placeholder="Filter by path"
              value={query}
              onChange={(event) => setQuery(event.target.value)}
            />
          </header>
          <div className="min-h-0 flex-1 overflow-y-auto p-2">
            {changes.length === 0 ? (
              <p className="p-4 text-center text-soft">
                {query === "" ? "Nothing was changed up to this moment of the replay." : "No changed file has this in its path."}
              </p>
            ) : mode === "turns" ? (
              <TurnList
                sandboxId={sandbox.id}
                changes={changes}
                open={open}
                onOpen={(change) => {
                  setPaneOpen(true);
                  void navigate({ search: (before) => ({ ...before, ev: change.seq }), replace: true });
                }}
              />
            ) : (
              <FileList
                changes={changes}
                open={file}
                onOpen={(path) => {
                  setFile(path);
                  setPaneOpen(true);
                }}
              />
            )}
          </div>
        </section>
        <div className={cn("min-h-0 min-w-0", !isPaneOpen && "@max-3xl:hidden")}>
          {mode === "session" ? (
            <SessionPane sandbox={sandbox} changes={changes} total={all.length} upTo={upTo} path={file} onBack={() => setPaneOpen(false)} />
          ) : open === null ? null : (
            <ChangePane sandbox={sandbox} change={open} onBack={() => setPaneOpen(false)} />
          )}
        </div>
      </div>
    </div>
  );
}
