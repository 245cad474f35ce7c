import { Link, getRouteApi } from "@tanstack/react-router";
import { Columns2, Plus } from "lucide-react";
import { useState } from "react";
import { errorMessage, type Sandbox } from "@/api/client";
import { ProjectSelect } from "@/projects/project-select";
import { useProjectNames } from "@/projects/queries";
import { usePageTitle } from "@/shell/page-title";
import { Button, buttonStyle } from "@/ui/button";
import { SearchBox } from "@/ui/form/search-box";
import { sentence } from "@/ui/text/sentence";
import { Empty, Loading, LoadError } from "@/ui/loading/placeholders";
import { choose, countStates, matching } from "./row";
import { StateChips } from "./state-chips";
import { SandboxTable } from "./table";
import { useRefreshOnEvents, useSandboxes } from "./use-sandboxes";
import { StopDialog } from "../stop-dialog";

const route = getRouteApi("/sandboxes");

/** Every sandbox that the user can see, updated live. */
export function SandboxesPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const names = useProjectNames();
  const all = useSandboxes({ project: search.project, q: search.q });
  const list = useSandboxes({ project: search.project, q: search.q, status: search.status });
  useRefreshOnEvents();
  usePageTitle("Sandboxes");
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [stopping, setStopping] = useState<Sandbox | null>(null);
  const rowsOf = (pages: typeof list) => matching(pages.data?.pages.flatMap((page) => page.items) ?? [], search.q ?? "");
  const counts = countStates(rowsOf(all));
  const shown = rowsOf(list).filter((each) => search.status === undefined || each.status === search.status);
  const [a, b] = chosen;
  const change = (changes: Partial<typeof search>) => void navigate({ search: (before) => ({ ...before, ...changes }), replace: true });

  return (
    <div className="mx-auto max-w-7xl space-y-3 p-3">
      <header className="flex flex-wrap items-center gap-2">
        <h1 className="mr-auto text-lg font-semibold">Sandboxes</h1>
        <CompareLink a={a} b={b} />
        <Link to="/sandbox/new" className={buttonStyle({ variant: "primary" })}>
          <Plus aria-hidden /> New sandbox
        </Link>
      </header>
      <div className="flex flex-wrap items-center gap-2">
        <SearchBox label="Search by ID or title" className="w-64" words={search.q ?? ""} onWords={(q) => change({ q: q || undefined })} />
        <ProjectSelect project={search.project} onChange={(project) => change({ project })} />
        <StateChips counts={counts} isPartial={all.hasNextPage} chosen={search.status} onChoose={(status) => change({ status })} />
      </div>
      {list.isPending ? (
        <Loading what="sandboxes" />
      ) : list.data === undefined ? (
        <LoadError what="Sandboxes" error={list.error} retry={() => void list.refetch()} />
      ) : shown.length === 0 ? (
        <Nothing isFiltered={search.q !== undefined || search.project !== undefined || search.status !== undefined} />
      ) : (
        <SandboxTable
          sandboxes={shown}
          projects={names}
          chosen={chosen}
          onChoose={(id) => setChosen(choose(chosen, id))}
          onStop={setStopping}
        />
      )}
      {list.hasNextPage ? (
        <div className="text-center">
          <Button disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            {list.isFetchingNextPage ? "Loading older sandboxes…" : "Load older sandboxes"}
          </Button>
          <p role="alert" className="text-xs text-bad">
            {list.isFetchNextPageError ? sentence(errorMessage(list.error)) : null}
          </p>
        </div>
      ) : null}
      {stopping === null ? null : <StopDialog sandbox={stopping} onClose={() => setStopping(null)} />}
    </div>
  );
}

function CompareLink({ a, b }: { a: string | undefined; b: string | undefined }) {
  if (a !== undefined && b !== undefined) {
    return (
      <Link to="/sandboxes/compare" search={{ a, b }} className={buttonStyle({})}>
        <Columns2 aria-hidden /> Compare sandboxes
      </Link>
    );
  }
  return (
    <span role="status" className="text-xs text-faint">
      {a === undefined ? "" : "Select one more to compare"}
    </span>
  );
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No sandboxes match">Clear a filter or change the search.</Empty>;
  return (
    <Empty title="No sandboxes yet">
      Each attempt at a task gets a sandbox. Create a ticket on the{" "}
      <Link to="/" className="text-accent underline">
        board
      </Link>
      , or start with a{" "}
      <Link to="/sandbox/new" className="text-accent underline">
        prompt
      </Link>
      .
    </Empty>
  );
}
