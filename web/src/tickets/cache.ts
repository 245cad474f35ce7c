import type { QueryClient } from "@tanstack/react-query";
import type { Ticket } from "@/api/client";
import { projectsQuery } from "@/projects/queries";
import { matches, withTicket, withTask, type Pages, type TaskStatusChange } from "./columns";
import { ticketQuery, type ColumnKey, type TicketStatus } from "./queries";

/** Update a ticket everywhere in the cache. */
export function place(queries: QueryClient, ticket: Ticket): void {
  const projects = queries.getQueryData(projectsQuery.queryKey);
  if (projects?.every((project) => project.id !== ticket.project_id))
    void queries.invalidateQueries({ queryKey: projectsQuery.queryKey });
  queries.setQueryData(ticketQuery(ticket.id).queryKey, ticket);
  for (const { queryKey } of queries.getQueryCache().findAll({ queryKey: ["tickets"] })) {
    const [, status, filter] = queryKey as unknown as ColumnKey;
    const belongs = ticket.status === status && matches(ticket, filter);
    queries.setQueryData<Pages>(queryKey, (column) => column && withTicket(column, ticket, belongs));
  }
}

/** Return a ticket from the cache. */
function known(queries: QueryClient, ticketId: string): Ticket | undefined {
  const alone = queries.getQueryData(ticketQuery(ticketId).queryKey);
  if (alone !== undefined) return alone;
  for (const [, column] of queries.getQueriesData<Pages>({ queryKey: ["tickets"] })) {
    for (const page of column?.pages ?? []) {
      const found = page.items.find((ticket) => ticket.id === ticketId);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

export function applyTaskStatus(queries: QueryClient, change: TaskStatusChange): void {
  const ticket = known(queries, change.ticket_id);
  if (ticket !== undefined) place(queries, withTask(ticket, change));
}

export function applyTicketStatus(queries: QueryClient, ticketId: string, status: TicketStatus): void {
  const ticket = known(queries, ticketId);
  if (ticket !== undefined && ticket.status !== status) place(queries, { ...ticket, status });
}

/** Load one ticket again. A request in progress is cancelled: it may be older than the change. */
export async function refresh(queries: QueryClient, ticketId: string): Promise<void> {
  const query = ticketQuery(ticketId);
  await queries.cancelQueries({ queryKey: query.queryKey });
  place(queries, await queries.fetchQuery({ ...query, staleTime: 0 }));
}

/** Whether any list of tickets, or this ticket, is on screen. */
export function isShown(queries: QueryClient, ticketId: string): boolean {
  const cache = queries.getQueryCache();
  return [["tickets"], ["ticket", ticketId]].some((queryKey) => cache.findAll({ queryKey, type: "active" }).length > 0);
}
