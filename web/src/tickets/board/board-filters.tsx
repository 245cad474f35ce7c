import { useNavigate } from "@tanstack/react-router";
import { X } from "lucide-react";
import { ProjectSelect } from "@/projects/project-select";
import { PRIORITIES, TICKET_TYPES } from "@/search";
import { Button } from "@/ui/button";
import { Select } from "@/ui/form/field";
import { SearchBox } from "@/ui/form/search-box";
import { PRIORITY, TYPE } from "../labels";
import type { TicketFilter } from "../queries";

const chosen = <T extends string>(known: readonly T[], value: string) => known.find((each) => each === value);

/** The filters of the board, kept in the address. */
export function BoardFilters({ filter }: { filter: TicketFilter }) {
  const navigate = useNavigate();
  const change = (changes: TicketFilter) =>
    void navigate({ to: "/", search: (before: TicketFilter) => ({ ...before, ...changes }), replace: true });
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return (
    <div role="search" aria-label="Tickets" className="flex min-w-0 flex-wrap items-center gap-1.5">
      <SearchBox
        id="board-search"
        label="Search tickets by title"
        placeholder="Search titles"
        className="w-44"
        words={filter.q ?? ""}
        onWords={(q) => change({ q: q || undefined })}
      />
      <ProjectSelect project={filter.project} onChange={(project) => change({ project })} />
      <Select
        aria-label="Type"
        value={filter.type ?? ""}
        onChange={({ target }) => change({ type: chosen(TICKET_TYPES, target.value) })}
      >
        <option value="">Any type</option>
        {TICKET_TYPES.map((type) => (
          <option key={type} value={type}>
            {TYPE[type]}
          </option>
        ))}
      </Select>
      <Select
        aria-label="Priority"
        value={filter.priority ?? ""}
        onChange={({ target }) => change({ priority: chosen(PRIORITIES, target.value) })}
      >
        <option value="">Any priority</option>
        {PRIORITIES.map((priority) => (
          <option key={priority} value={priority}>
            {PRIORITY[priority].label}
          </option>
        ))}
      </Select>
      {isFiltered ? (
        <Button variant="quiet" size="small" onClick={() => void navigate({ to: "/", search: {}, replace: true })}>
          <X aria-hidden /> Clear filters
        </Button>
      ) : null}
    </div>
  );
}
