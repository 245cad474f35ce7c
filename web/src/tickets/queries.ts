import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";

export const ticketsQuery = (filter: { project?: string }) =>
  queryOptions({
    queryKey: ["tickets", filter],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/tickets", { params: { query: { project_id: filter.project, limit: 200 } }, signal })),
  });

export const ticketQuery = (ticketId: string) =>
  queryOptions({
    queryKey: ["ticket", ticketId],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/tickets/{ticket_id}", { params: { path: { ticket_id: ticketId } }, signal })),
  });
