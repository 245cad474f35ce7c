import { useQueryClient, type QueryClient, type QueryKey } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { refetchWhenSettled, invalidate } from "@/api/invalidate";
import { ApiError } from "@/api/client";
import { useConnectionState, useLive } from "@/stream/stream-provider";
import type { Item } from "@/stream/subscriptions";
import type { TaskStatusChange } from "@/tickets/columns";
import { isShown, refresh, applyTaskStatus, applyTicketStatus } from "@/tickets/cache";
import type { TicketStatus } from "@/tickets/queries";
import { useBatched } from "@/ui/hooks/use-batched";

interface StatusData {
  task_id?: string | null;
  ticket_id?: string;
  status?: string;
}

/** Changes often arrive together; refresh what they affect once. */
const GATHER_MS = 150;
/** With more changed tickets than this, refresh the lists instead. */
const FEW = 8;

/**
 * Applies status changes from the stream at once, then refreshes what they affect. Queries that failed while the server
 * was unreachable are retried when the connection is back.
 */
export function LiveUpdates() {
  const queries = useQueryClient();
  const keys = useRef(new Map<string, QueryKey>());
  const tickets = useRef(new Set<string>());
  const link = useConnectionState();
  useEffect(() => {
    if (link === "open") void queries.refetchQueries({ type: "active", predicate: ({ state }) => isUnanswered(state.error) });
  }, [link, queries]);

  const look = useBatched(() => {
    for (const key of keys.current.values()) invalidate(queries, key);
    lookAtTickets(queries, [...tickets.current]);
    keys.current.clear();
    tickets.current.clear();
  }, GATHER_MS);

  function gather(items: readonly Item[]) {
    for (const item of items) {
      tell(queries, item);
      for (const key of keysOf(item)) keys.current.set(JSON.stringify(key), key);
      const { ticket_id } = item.data as StatusData;
      if (ticket_id !== undefined) tickets.current.add(ticket_id);
    }
    look();
  }

  useLive(
    { types: ["sandbox.status", "task.status", "ticket.status", "message.status"] },
    { onItems: gather, onResync: () => void queries.invalidateQueries() },
  );
  return null;
}

/** Whether the server did not respond or failed. Rejected requests are not retried. */
function isUnanswered(error: unknown): boolean {
  return error !== null && !(error instanceof ApiError && error.status < 500);
}

function tell(queries: QueryClient, item: Item): void {
  if (item.type === "task.status") {
    applyTaskStatus(queries, { ...(item.data as Omit<TaskStatusChange, "sandbox_id">), sandbox_id: item.sandbox_id });
  } else if (item.type === "ticket.status") {
    const { ticket_id, status } = item.data as { ticket_id: string; status: TicketStatus };
    applyTicketStatus(queries, ticket_id, status);
  }
}

function lookAtTickets(queries: QueryClient, ids: readonly string[]): void {
  if (ids.length > FEW) {
    invalidate(queries, ["tickets"]);
    for (const id of ids) invalidate(queries, ["ticket", id]);
    return;
  }
  for (const id of ids) {
    if (isShown(queries, id)) {
      refetchWhenSettled(queries, ["tickets"]);
      refresh(queries, id).catch(() => queries.invalidateQueries({ queryKey: ["tickets"] }));
    } else {
      invalidate(queries, ["tickets"]);
      invalidate(queries, ["ticket", id]);
    }
  }
}

function keysOf(item: Item): QueryKey[] {
  const { task_id, ticket_id } = item.data as StatusData;
  const keys: QueryKey[] = [];
  if (item.type === "message.status") return [["messages", item.sandbox_id]];
  if (item.type === "sandbox.status") keys.push(["sandboxes"], ["sandbox", item.sandbox_id]);
  if (ticket_id !== undefined) keys.push(["ticket-search"]);
  if (task_id !== undefined && task_id !== null) keys.push(["task", task_id]);
  return keys;
}
