import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ticketStyle } from "@/outcome/outcome";
import { taskQuery } from "@/sandboxes/queries";
import { Dot } from "@/ui/badge";
import { describeTask } from "../task-status";
import { ticketQuery } from "../queries";

const LINK = "inline-flex max-w-full min-w-0 items-center gap-1.5 underline-offset-2 hover:underline";

/** A link to another ticket, with its status. */
export function TicketLink({ ticketId }: { ticketId: string }) {
  const { data: ticket } = useQuery(ticketQuery(ticketId));
  const look = ticket === undefined ? undefined : ticketStyle(ticket);
  return (
    <Link to="/tickets/$ticketId" params={{ ticketId }} className={LINK}>
      <Dot tone={look?.tone ?? "neutral"} />
      <span className="truncate">{ticket?.title ?? ticketId}</span>
      <span className="shrink-0 text-faint">{look?.label}</span>
    </Link>
  );
}

/** A link to another task's ticket, with the task's status. */
export function TaskLink({ taskId }: { taskId: string }) {
  const { data: task } = useQuery(taskQuery(taskId));
  if (task === undefined) return <span className="font-mono">{taskId}</span>;
  const state = describeTask(task, undefined, 0);
  return (
    <Link to="/tickets/$ticketId" params={{ ticketId: task.ticket_id }} hash={task.id} className={LINK}>
      <Dot tone={state.tone} />
      <span className="truncate">{task.title}</span>
      <span className="shrink-0 text-faint">{state.label}</span>
    </Link>
  );
}
