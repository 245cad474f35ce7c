import { queryOptions, skipToken } from "@tanstack/react-query";
import { unwrap, api } from "@/api/client";

export const sandboxQuery = (sandboxId: string) =>
  queryOptions({
    queryKey: ["sandbox", sandboxId],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/sandboxes/{sandbox_id}", { params: { path: { sandbox_id: sandboxId } }, signal })),
  });

export const sandboxesQuery = (filter: { status?: string; project?: string }) =>
  queryOptions({
    queryKey: ["sandboxes", filter],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/sandboxes", {
          params: { query: { status: filter.status as never, project_id: filter.project, limit: 100 } },
          signal,
        }),
      ),
  });

/** Every sandbox of a task, newest first: its attempts and its verifications. Fetches nothing without a task. */
export const attemptsQuery = (taskId: string | null) =>
  queryOptions({
    queryKey: ["sandboxes", { task: taskId }],
    queryFn:
      taskId === null
        ? skipToken
        : ({ signal }) =>
            unwrap(api.GET("/api/v1/sandboxes", { params: { query: { task_id: taskId, limit: 200 } }, signal })),
  });

/** A task. Fetches nothing for a sandbox without one. */
export const taskQuery = (taskId: string | null) =>
  queryOptions({
    queryKey: ["task", taskId],
    queryFn:
      taskId === null
        ? skipToken
        : ({ signal }) =>
            unwrap(api.GET("/api/v1/tasks/{task_id}", { params: { path: { task_id: taskId } }, signal })),
  });
