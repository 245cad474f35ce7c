import { useNavigate } from "@tanstack/react-router";
import { Search, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useProjectNames } from "@/projects/queries";
import { PRIORITIES, TICKET_TYPES } from "@/search";
import { Button } from "@/ui/button";
import { Input, Select } from "@/ui/field";
import { PRIORITY, TYPE } from "./labels";
import type { TicketFilter } from "./queries";

const TYPING_MS = 200;

const chosen = <T extends string>(known: readonly T[], value: string) => known.find((each) => each === value);

/** What of the board is shown; it is kept in the address. */
export function BoardFilters({ filter }: { filter: TicketFilter }) {
  const navigate = useNavigate();
  const projects = useProjectNames();
  const change = (changes: TicketFilter) =>
    void navigate({ to: "/", search: (before: TicketFilter) => ({ ...before, ...changes }), replace: true });
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return (
    <div role="search" aria-label="Tickets" className="flex min-w-0 flex-wrap items-center gap-1.5">
      <Words words={filter.q ?? ""} onChange={(q) => change({ q: q === "" ? undefined : q })} />
      <Select
        aria-label="Project"
        className="max-w-44"
        value={filter.project ?? ""}
        onChange={({ target }) => change({ project: target.value === "" ? undefined : target.value })}
      >
        <option value="">All projects</option>
        {filter.project === undefined || projects.has(filter.project) ? null : <option value={filter.project}>Another project</option>}
        {Array.from(projects, ([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </Select>
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
          <X aria-hidden /> Clear
        </Button>
      ) : null}
    </div>
  );
}

/** Searching begins when the typing pauses. */
function Words({ words, onChange }: { words: string; onChange: (words: string) => void }) {
  const [text, setText] = useState(words);
  const [from, setFrom] = useState(words);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  if (words !== from) {
    setFrom(words);
    if (words !== text.trim()) setText(words);
  }
  function write(value: string) {
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(value.trim()), TYPING_MS);
  }
  return (
    <div className="relative">
      <Search aria-hidden className="pointer-events-none absolute top-2 left-2 size-4 text-faint" />
      <Input
        id="board-search"
        type="search"
        aria-label="Search tickets by title"
        placeholder="Search titles"
        maxLength={300}
        className="w-44 pl-7.5"
        value={text}
        onChange={({ target }) => write(target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
    </div>
  );
}
