import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { unwrap, api, type Ticket } from "@/api/client";
import type { BoardSearch } from "@/search";

export type TicketStatus = Ticket["status"];
export type TicketFilter = BoardSearch;

/** The cache key of a column. */
export type ColumnKey = readonly ["tickets", TicketStatus, TicketFilter];

/** Costs grow without a notification while an agent works. */
const COSTS_EVERY_MS = 20_000;

/** One column of the board: the tickets of a status, newest first, by page. */
export const columnQuery = (status: TicketStatus, filter: TicketFilter) =>
  infiniteQueryOptions({
    queryKey: ["tickets", status, filter] as ColumnKey,
    queryFn: ({ pageParam, signal }) => {
      const query = {
        status,
        project_id: filter.project,
        priority: filter.priority,
        ticket_type: filter.type,
        q: filter.q,
        limit: 50,
        cursor: pageParam,
      };
      return unwrap(api.GET("/api/v1/tickets", { params: { query }, signal }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      (status === "building" || status === "testing") && state.data?.pages.some((page) => page.items.length > 0)
        ? COSTS_EVERY_MS
        : false,
  });

export const ticketQuery = (ticketId: string) =>
  queryOptions({
    queryKey: ["ticket", ticketId],
    // Do not abort when the page is left: `refresh` would take the previous value for the result.
    queryFn: () => unwrap(api.GET("/api/v1/tickets/{ticket_id}", { params: { path: { ticket_id: ticketId } } })),
    refetchInterval: ({ state }) =>
      state.data?.status === "building" || state.data?.status === "testing" ? COSTS_EVERY_MS : false,
  });

/** The newest tickets whose title contains the words. */
export const ticketSearchQuery = (words: string) =>
  queryOptions({
    queryKey: ["ticket-search", words],
    queryFn: ({ signal }) => {
      const query = { q: words === "" ? undefined : words, limit: 20 };
      return unwrap(api.GET("/api/v1/tickets", { params: { query }, signal }));
    },
    placeholderData: keepPreviousData,
    staleTime: 5_000,
  });
