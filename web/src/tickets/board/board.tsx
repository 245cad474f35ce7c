import { useState } from "react";
import { useProjectNames } from "@/projects/queries";
import { useRunningSandboxes } from "../running-sandboxes";
import { BoardColumn } from "./board-column";
import { COLUMNS } from "../columns";
import type { TicketFilter, TicketStatus } from "../queries";
import { useBoardShortcuts } from "./use-board-shortcuts";

/** Tickets by status. */
export function Board({ filter }: { filter: TicketFilter }) {
  const alive = useRunningSandboxes();
  const projects = useProjectNames();
  const [opened, setOpened] = useState<ReadonlySet<TicketStatus>>(new Set());
  const board = useBoardShortcuts();

  function toggle(status: TicketStatus) {
    const next = new Set(opened);
    if (!next.delete(status)) next.add(status);
    setOpened(next);
  }

  return (
    <div ref={board} className="flex min-h-0 flex-1 snap-x snap-proximity gap-2 overflow-x-auto scroll-px-3 px-3 pb-3">
      {COLUMNS.map((column) => (
        <BoardColumn
          key={column.status}
          column={column}
          filter={filter}
          alive={alive}
          projects={projects}
          isOpened={opened.has(column.status)}
          onToggle={() => toggle(column.status)}
        />
      ))}
    </div>
  );
}
