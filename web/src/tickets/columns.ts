import type { InfiniteData } from "@tanstack/react-query";
import type { Task, Ticket } from "@/api/client";
import type { TicketFilter, TicketStatus } from "./queries";

interface Page {
  items: Ticket[];
  next_cursor?: string | null;
}

/** The loaded part of a column. */
export type Pages = InfiniteData<Page, string | undefined>;

/** How a column is shown. `fold`: never collapsed, collapsed while empty, or until opened. */
export interface Column {
  status: TicketStatus;
  label: string;
  fold: "never" | "empty" | "always";
}

export const COLUMNS: readonly Column[] = [
  { status: "backlog", label: "Backlog", fold: "never" },
  { status: "analyzing", label: "Analyzing", fold: "empty" },
  { status: "building", label: "Building", fold: "never" },
  { status: "testing", label: "Testing", fold: "never" },
  { status: "blocked", label: "Blocked", fold: "empty" },
  { status: "failed", label: "Failed", fold: "empty" },
  { status: "done", label: "Done", fold: "never" },
  { status: "cancelled", label: "Cancelled", fold: "always" },
];

/** Whether a ticket matches a filter, as the server decides it. */
export function matches(ticket: Ticket, filter: TicketFilter): boolean {
  return (
    (filter.project === undefined || ticket.project_id === filter.project) &&
    (filter.priority === undefined || ticket.priority === filter.priority) &&
    (filter.type === undefined || ticket.ticket_type === filter.type) &&
    (filter.q === undefined || ticket.title.toLowerCase().includes(filter.q.toLowerCase().trim()))
  );
}

/** Return a column after a ticket has changed; the same object if it is not affected. */
export function withTicket(column: Pages, ticket: Ticket, belongs: boolean): Pages {
  const isThere = column.pages.some((page) => page.items.some((each) => each.id === ticket.id));
  if (!isThere && !belongs) return column;
  if (isThere && belongs) return mapItems(column, (items) => items.map((each) => (each.id === ticket.id ? ticket : each)));
  if (isThere) return mapItems(column, (items) => items.filter((each) => each.id !== ticket.id));
  return inserted(column, ticket);
}

/** Ids grow with time, so the newest come first. Tickets beyond the loaded pages are ignored. */
function inserted(column: Pages, ticket: Ticket): Pages {
  const found = column.pages.findIndex((page) => page.items.some((each) => each.id < ticket.id));
  const last = column.pages.length - 1;
  if (found < 0 && column.pages[last]?.next_cursor) return column;
  const target = found < 0 ? last : found;
  return mapItems(column, (items, index) => {
    if (index !== target) return items;
    const at = items.findIndex((each) => each.id < ticket.id);
    return at < 0 ? [...items, ticket] : items.toSpliced(at, 0, ticket);
  });
}

function mapItems(column: Pages, change: (items: Ticket[], index: number) => Ticket[]): Pages {
  return { ...column, pages: column.pages.map((page, index) => ({ ...page, items: change(page.items, index) })) };
}

/** The data of a `task.status` change. */
export interface TaskStatusChange {
  task_id: string;
  ticket_id: string;
  status: Task["status"];
  outcome: Task["outcome"];
  attempt: number;
  error: string | null;
  sandbox_id: string | null;
}

/** Return a ticket with a changed task. */
export function withTask(ticket: Ticket, change: TaskStatusChange): Ticket {
  const { task_id: taskId, status, outcome, attempt, error, sandbox_id } = change;
  const tasks = (ticket.tasks ?? []).map((task) =>
    task.id === taskId ? { ...task, status, outcome, attempt, error, sandbox_id } : task,
  );
  return { ...ticket, tasks };
}

export interface Cost {
  cost_usd: number;
  /** The part that the scripted model was charged. */
  simulated_cost_usd: number;
}

export const NO_COST: Cost = { cost_usd: 0, simulated_cost_usd: 0 };

export function added(one: Cost, other: Cost): Cost {
  return { cost_usd: one.cost_usd + other.cost_usd, simulated_cost_usd: one.simulated_cost_usd + other.simulated_cost_usd };
}

/** Return the total cost of a ticket. */
export function costOf(ticket: Ticket): Cost {
  return (ticket.tasks ?? []).reduce<Cost>(added, NO_COST);
}
