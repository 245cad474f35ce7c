import { Link, getRouteApi } from "@tanstack/react-router";
import { Columns2, Plus } from "lucide-react";
import { useState } from "react";
import type { Sandbox } from "@/api/client";
import { ProjectSelect } from "@/projects/project-select";
import { useProjectNames } from "@/projects/queries";
import { useTitle } from "@/shell/page-title";
import { Button, buttonLook } from "@/ui/button";
import { SearchBox } from "@/ui/form/search-box";
import { Empty, Loading, Trouble } from "@/ui/loading/placeholders";
import { choose, countStates, matching } from "./row";
import { StateChips } from "./state-chips";
import { SandboxTable } from "./table";
import { useRestless, useSandboxes } from "./use-sandboxes";
import { StopDialog } from "../stop-dialog";

const route = getRouteApi("/sandboxes");

/** Every sandbox that one may see, live. */
export function SandboxesPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const names = useProjectNames();
  const all = useSandboxes({ project: search.project, q: search.q });
  const list = useSandboxes({ project: search.project, q: search.q, status: search.status });
  useRestless();
  useTitle("Sandboxes");
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
        <Link to="/sandbox/new" className={buttonLook({ variant: "primary" })}>
          <Plus aria-hidden /> New sandbox
        </Link>
      </header>
      <div className="flex flex-wrap items-center gap-2">
        <SearchBox label="Search by id or title" className="w-64" words={search.q ?? ""} onWords={(q) => change({ q: q || undefined })} />
        <ProjectSelect project={search.project} onChange={(project) => change({ project })} />
        <StateChips counts={counts} isPartial={all.hasNextPage} chosen={search.status} onChoose={(status) => change({ status })} />
      </div>
      {list.isPending ? (
        <Loading what="sandboxes" />
      ) : list.data === undefined ? (
        <Trouble what="Sandboxes" error={list.error} retry={() => void list.refetch()} />
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
            Show older ones
          </Button>
        </div>
      ) : null}
      {stopping === null ? null : <StopDialog sandbox={stopping} onClose={() => setStopping(null)} />}
    </div>
  );
}

function CompareLink({ a, b }: { a: string | undefined; b: string | undefined }) {
  if (a !== undefined && b !== undefined) {
    return (
      <Link to="/sandboxes/compare" search={{ a, b }} className={buttonLook({})}>
        <Columns2 aria-hidden /> Compare the two
      </Link>
    );
  }
  return (
    <span role="status" className="text-xs text-faint">
      {a === undefined ? "" : "Choose one more to compare"}
    </span>
  );
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No sandbox matches">Take a filter away, or look for less.</Empty>;
  return (
    <Empty title="No sandbox yet">
      One is made for every attempt at a task. File a ticket on the{" "}
      <Link to="/" className="text-accent underline">
        board
      </Link>
      , or begin with a{" "}
      <Link to="/sandbox/new" className="text-accent underline">
        prompt
      </Link>
      .
    </Empty>
  );
}
