import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";

export const sandboxQuery = (sandboxId: string) =>
  queryOptions({
    queryKey: ["sandbox", sandboxId],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/sandboxes/{sandbox_id}", { params: { path: { sandbox_id: sandboxId } }, signal })),
  });

export const sandboxesQuery = (filter: { status?: string; project?: string }) =>
  queryOptions({
    queryKey: ["sandboxes", filter],
    queryFn: ({ signal }) =>
      answer(
        api.GET("/api/v1/sandboxes", {
          params: { query: { status: filter.status as never, project_id: filter.project, limit: 100 } },
          signal,
        }),
      ),
  });
