import { useInfiniteQuery } from "@tanstack/react-query";
import { errorMessage, type Sandbox } from "@/api/client";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { sentence } from "@/ui/text/sentence";
import type { Column } from "../columns";
import { columnQuery, type TicketFilter } from "../queries";
import { TicketCard } from "./ticket-card";
import { leadingTask } from "../task-status";

export interface ColumnProps {
  column: Column;
  filter: TicketFilter;
  alive: ReadonlyMap<string, Sandbox>;
  projects: ReadonlyMap<string, string>;
  isOpened: boolean;
  onToggle: () => void;
}

/** The tickets of one status. */
export function BoardColumn({ column, filter, alive, projects, isOpened, onToggle }: ColumnProps) {
  const query = useInfiniteQuery(columnQuery(column.status, filter));
  const tickets = query.data?.pages.flatMap((page) => page.items) ?? [];
  const howMany = `${tickets.length}${query.hasNextPage ? "+" : ""}`;
  const mayFold = column.fold === "always" || (column.fold === "empty" && tickets.length === 0);
  if (mayFold && !isOpened) return <Folded label={column.label} howMany={howMany} onOpen={onToggle} />;
  return (
    <section
      aria-label={`${column.label}, ${howMany}`}
      className={cn(
        "flex min-h-0 w-[17.5rem] max-w-[82vw] flex-none snap-start flex-col rounded-xl bg-sunken lg:w-auto lg:min-w-44 lg:flex-1",
        // On narrow screens an empty column would push the others out of view.
        tickets.length === 0 && !query.isPending && "max-lg:hidden",
      )}
    >
      <h2 className={cn("flex h-9 shrink-0 items-center gap-2 px-3 text-sm font-semibold", column.status === "failed" && "text-bad")}>
        {mayFold ? (
          <button type="button" aria-expanded onClick={onToggle} title={`Collapse ${column.label}`} className="hover:underline">
            {column.label}
          </button>
        ) : (
          column.label
        )}
        <span className="font-normal text-faint tabular-nums">{howMany}</span>
      </h2>
      <ul aria-label={column.label} className="flex min-h-0 flex-1 flex-col gap-1.5 overflow-y-auto px-1.5 pt-0.5 pb-2">
        {tickets.map((ticket) => (
          <TicketCard
            key={ticket.id}
            ticket={ticket}
            project={projects.get(ticket.project_id)}
            sandbox={alive.get(leadingTask(ticket)?.sandbox_id ?? "")}
          />
        ))}
        {tickets.length === 0 ? <li className="px-2 py-3 text-xs text-faint">{query.isPending ? "Loading…" : "No tickets"}</li> : null}
        {query.hasNextPage ? (
          <li>
            <Button
              variant="quiet"
              size="small"
              className="w-full"
              disabled={query.isFetchingNextPage}
              onClick={() => void query.fetchNextPage()}
            >
              {query.isFetchingNextPage ? "Loading older tickets…" : "Load older tickets"}
            </Button>
            <p role="alert" className="px-2 text-xs text-bad">
              {query.isFetchNextPageError ? sentence(errorMessage(query.error)) : null}
            </p>
          </li>
        ) : null}
      </ul>
    </section>
  );
}

function Folded({ label, howMany, onOpen }: { label: string; howMany: string; onOpen: () => void }) {
  return (
    <button
      type="button"
      aria-expanded={false}
      aria-label={`Expand ${label}, ${howMany}`}
      onClick={onOpen}
      className={cn(
        "flex w-9 flex-none flex-col items-center gap-2 rounded-xl bg-sunken py-2.5 text-xs font-medium text-soft hover:text-text",
        howMany === "0" && "max-lg:hidden",
      )}
    >
      <span className="font-normal text-faint tabular-nums">{howMany}</span>
      <span className="[writing-mode:vertical-rl]">{label}</span>
    </button>
  );
}
