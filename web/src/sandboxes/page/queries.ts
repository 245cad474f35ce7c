import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";

export const taskQuery = (taskId: string | undefined) =>
  queryOptions({
    queryKey: ["task", taskId],
    enabled: taskId !== undefined,
    queryFn: ({ signal }) => answer(api.GET("/api/v1/tasks/{task_id}", { params: { path: { task_id: taskId ?? "" } }, signal })),
  });

/** Every sandbox of a task. */
export const attemptsQuery = (taskId: string) =>
  queryOptions({
    queryKey: ["sandboxes", { task: taskId }],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/sandboxes", { params: { query: { task_id: taskId, limit: 100 } }, signal })),
  });
