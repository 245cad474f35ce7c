import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { useShortcuts } from "@/shell/shortcuts/shortcuts";
import { SearchBox } from "@/ui/form/search-box";
import { Empty } from "@/ui/loading/placeholders";
import { VirtualRows } from "@/ui/scroll/virtual-rows";
import { useCollector } from "../feed/collector";
import type { ViewProps } from "../page/view";
import { Commands, found } from "./commands";
import { rowsOf, type Row } from "./rows";
import { TerminalRow } from "./terminal-row";
import { useFullOutput } from "./use-full-output";

const route = getRouteApi("/sandbox/$sandboxId");
const LINE = 20;

function heightOf(row: Row): number {
  return row.kind === "command" ? 48 : row.kind === "more" ? 36 : row.lines.length * LINE;
}

/** The agent's commands and their output, as in a shell. */
export function TerminalView({ sandbox, feed, upTo }: ViewProps) {
  const { all, revision } = useCollector(feed, () => new Commands());
  const { find: query = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const { whole, trouble, show } = useFullOutput(sandbox.id);
  // Commands are changed in place; the revision shows when.
  const commands = useMemo(() => (revision < 0 ? [] : found(all, upTo, query)), [all, revision, upTo, query]);
  const rows = useMemo(() => rowsOf(commands, upTo, whole), [commands, upTo, whole]);
  useShortcuts("Terminal", [
    { keys: "s", label: "Search commands and output", run: () => document.getElementById("terminal-search")?.focus() },
  ]);
  const isLive = upTo === null && sandbox.ended_at === null;

  if (all.length === 0) {
    return (
      <Empty title={!feed.isWhole ? "Loading commands" : sandbox.ended_at === null ? "No commands yet" : "No commands"}>
        {sandbox.ended_at === null
          ? "Commands appear here as the agent runs them."
          : feed.isWhole
            ? "The sandbox ended without running a command."
            : "Commands appear here as events are loaded."}
      </Empty>
    );
  }
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="flex items-center gap-3 border-b p-2">
        <SearchBox
          id="terminal-search"
          label="Search commands and their output"
          placeholder="Search commands and output (s)"
          className="w-full max-w-sm"
          words={query}
          onWords={(find) => void navigate({ search: (before) => ({ ...before, find: find || undefined }), replace: true })}
        />
        <span role="status" className="text-xs whitespace-nowrap text-soft">
          {commands.length} {query === "" ? (commands.length === 1 ? "command" : "commands") : "matching"}
        </span>
      </header>
      <div className="min-h-0 flex-1">
        <VirtualRows
          label="Commands and their output"
          rows={rows}
          keyOf={(row) => row.key}
          heightOf={heightOf}
          className="bg-sunken"
          listKey={query}
          render={(row) => (
            <TerminalRow sandboxId={sandbox.id} row={row} query={query} isLive={isLive} trouble={trouble} onShow={show} />
          )}
        />
      </div>
    </div>
  );
}
