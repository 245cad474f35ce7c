import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { ProjectSelect } from "@/projects/project-select";
import { useProjectNames } from "@/projects/queries";
import { sandboxesQuery } from "@/sandboxes/queries";
import { usePageTitle } from "@/shell/page-title";
import { Chip } from "@/ui/form/chip";
import { Empty, Loading, LoadError } from "@/ui/loading/placeholders";
import { VirtualRows } from "@/ui/scroll/virtual-rows";
import { KINDS, kindsIn, type Kind } from "./entries";
import { EntryRow } from "./entry-row";
import { useActivity } from "./use-activity";

const route = getRouteApi("/activity");

/** A live feed of events in all projects that the user can see. */
export function ActivityPage() {
  const { project, kinds } = route.useSearch();
  const navigate = route.useNavigate();
  const shown = kindsIn(kinds);
  usePageTitle("Activity");

  function toggle(kind: Kind) {
    const isAll = shown.size === KINDS.length;
    const next = isAll ? new Set([kind]) : new Set(shown);
    if (!isAll && !next.delete(kind)) next.add(kind);
    const text = next.size === 0 || next.size === KINDS.length ? undefined : KINDS.filter((each) => next.has(each)).join(",");
    void navigate({ search: (before) => ({ ...before, kinds: text }), replace: true });
  }

  return (
    <div className="flex h-full flex-col">
      <header className="flex flex-wrap items-center gap-2 border-b px-3 py-2">
        <h1 className="mr-2 text-lg font-semibold">Activity</h1>
        <div role="group" aria-label="Filter by type" className="flex flex-wrap gap-1.5">
          {KINDS.map((kind) => (
            <Chip key={kind} isOn={shown.size < KINDS.length && shown.has(kind)} onPress={() => toggle(kind)}>
              <span className="capitalize">{kind}</span>
            </Chip>
          ))}
        </div>
        <ProjectSelect
          project={project}
          onChange={(next) => void navigate({ search: (before) => ({ ...before, project: next }), replace: true })}
        />
      </header>
      <div className="min-h-0 flex-1">
        <Feed key={project ?? ""} project={project} kinds={[...shown].join(",")} />
      </div>
    </div>
  );
}

function Feed({ project, kinds }: { project: string | undefined; kinds: string }) {
  const names = useProjectNames();
  const titles = useTitles();
  const { entries, older } = useActivity(project);
  const rows = useMemo(() => {
    const wanted = kindsIn(kinds);
    return entries.filter((entry) => wanted.has(entry.kind));
  }, [entries, kinds]);
  if (older.isError && entries.length === 0) return <LoadError what="Activity" error={older.error} retry={() => void older.refetch()} />;
  if (older.isPending && entries.length === 0) return <Loading what="activity" />;
  if (rows.length === 0) {
    return (
      <Empty title={entries.length === 0 ? "No activity yet" : "No activity of these types"}>
        {entries.length === 0 ? (
          <>
            What agents do appears here. Create a ticket on the{" "}
            <Link to="/" className="text-accent underline">
              board
            </Link>
            .
          </>
        ) : (
          "New activity appears here automatically."
        )}
      </Empty>
    );
  }
  return (
    <VirtualRows
      label="Activity, newest last"
      rows={rows}
      listKey={kinds}
      keyOf={(entry) => entry.key}
      heightOf={(entry) => (entry.change === null ? 49 : 62)}
      render={(entry) => (
        <EntryRow entry={entry} project={names.get(entry.projectId) ?? ""} title={titles.get(entry.sandboxId ?? "")} />
      )}
    />
  );
}

/** Return the task titles of the newest sandboxes, by sandbox id. */
function useTitles(): ReadonlyMap<string, string> {
  const { data } = useQuery(sandboxesQuery({}));
  return useMemo(() => new Map(data?.items.map(({ id, task_title }) => [id, task_title ?? "Spec"])), [data]);
}
