import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { CloneNote } from "@/projects/clone-note";
import { useProject } from "@/projects/queries";
import { usePageTitle } from "@/shell/page-title";
import { Loading, LoadError } from "@/ui/loading/placeholders";
import { Board } from "./board";
import { BoardSummary, useColumns } from "./board-summary";
import { BoardFilters } from "./board-filters";
import { useRememberFilter } from "./last-filter";
import { Welcome } from "./welcome";

const route = getRouteApi("/");

/** The start page: all tickets by status. */
export function BoardPage() {
  const filter = route.useSearch();
  usePageTitle("Board");
  useRememberFilter(filter);
  const queries = useQueryClient();
  const columns = useColumns(filter);
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const isLoaded = columns.every((column) => column.isLoaded);
  const isEmpty = isLoaded && columns.every((column) => column.count === 0 && !column.hasMore);
  const project = useProject(filter.project);
  const error = columns.find((column) => column.error !== null)?.error;
  if (isEmpty && !isFiltered) return <Welcome />;
  return (
    <div className="flex h-full flex-col">
      <h1 className="sr-only">Board</h1>
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 px-3 py-2.5">
        <BoardFilters filter={filter} />
        <BoardSummary filter={filter} />
      </div>
      {project === undefined ? null : (
        <div className="px-3 pb-2.5">
          <CloneNote project={project} />
        </div>
      )}
      {error ? (
        <LoadError what="Tickets" error={error} retry={() => void queries.refetchQueries({ queryKey: ["tickets"], type: "active" })} />
      ) : !isLoaded && !isFiltered && columns.every((column) => column.count === 0) ? (
        <Loading what="tickets" />
      ) : (
        <>
          {isEmpty ? (
            <p role="status" className="px-3 pb-2 text-soft">
              No tickets match these filters. Clear the filters to see all tickets.
            </p>
          ) : null}
          <Board filter={filter} />
        </>
      )}
    </div>
  );
}
