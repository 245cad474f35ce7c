import { queryOptions } from "@tanstack/react-query";
import { unwrap, api, type MessageIn } from "@/api/client";

/** Messages to a sandbox with their receipts, newest first. */
export const messagesQuery = (sandboxId: string) =>
  queryOptions({
    queryKey: ["messages", sandboxId],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/sandboxes/{sandbox_id}/messages/history", {
          params: { path: { sandbox_id: sandboxId }, query: { limit: 100, order: "desc" } },
          signal,
        }),
      ),
  });

/** Send a message; the same key sends it once, however often it is repeated. */
export function sendMessage(sandboxId: string, body: MessageIn, key: string) {
  return unwrap(
    api.POST("/api/v1/sandboxes/{sandbox_id}/messages", {
      params: { path: { sandbox_id: sandboxId }, header: { "Idempotency-Key": key } },
      body,
    }),
  );
}

export function retryTask(taskId: string, message: string) {
  return unwrap(
    api.POST("/api/v1/tasks/{task_id}/retry", {
      params: { path: { task_id: taskId } },
      body: { message: message === "" ? null : message },
    }),
  );
}
