import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { LoaderCircle } from "lucide-react";
import { useEffect } from "react";
import { LoadError } from "@/ui/loading/placeholders";
import { taskQuery } from "../queries";

/** A task without a sandbox. The page opens the sandbox when it is created. */
export function QueuedTask({ taskId, ticketId }: { taskId: string; ticketId: string }) {
  const navigate = useNavigate();
  // The stream invalidates this query when the task changes.
  const task = useQuery(taskQuery(taskId));
  const sandboxId = task.data?.sandbox_id ?? null;
  useEffect(() => {
    if (sandboxId !== null) void navigate({ to: "/sandbox/$sandboxId", params: { sandboxId }, replace: true });
  }, [sandboxId, navigate]);
  if (task.isError && task.data === undefined) return <LoadError what="The task" error={task.error} retry={() => void task.refetch()} />;
  const isOver = task.data?.status === "failed" || task.data?.status === "cancelled";
  return (
    <div role="status" className="mx-auto flex max-w-md flex-col items-center gap-3 px-4 py-16 text-center">
      {isOver ? null : <LoaderCircle aria-hidden className="size-5 animate-spin text-faint" />}
      <h1 className="text-base font-semibold">{isOver ? (task.data?.status === "failed" ? "The task failed" : "The task was cancelled") : "Waiting for a free slot"}</h1>
      <p className="text-soft [overflow-wrap:anywhere]">
        {isOver ? task.data?.error : "The task is queued. This page opens its sandbox as soon as it starts."}
      </p>
      <Link to="/tickets/$ticketId" params={{ ticketId }} className="text-accent underline">
        Show ticket
      </Link>
    </div>
  );
}
