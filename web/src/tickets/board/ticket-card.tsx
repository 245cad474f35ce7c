import { Link } from "@tanstack/react-router";
import { Boxes } from "lucide-react";
import { memo } from "react";
import type { Sandbox, Ticket } from "@/api/client";
import { Badge, Dot } from "@/ui/badge";
import { cost } from "@/ui/text/numbers";
import { sentence } from "@/ui/text/sentence";
import { Ago, useNow } from "@/ui/time/time";
import { describeTask, leadingTask } from "../task-status";
import { costOf } from "../columns";
import { PRIORITY, TYPE } from "../labels";

/** One ticket on the board, rendered again only when its properties change. */
export const TicketCard = memo(function TicketCard(props: {
  ticket: Ticket;
  project: string | undefined;
  sandbox: Sandbox | undefined;
}) {
  const { ticket, project, sandbox } = props;
  const task = leadingTask(ticket);
  const spent = costOf(ticket);
  const priority = PRIORITY[ticket.priority];
  return (
    <li
      data-card={ticket.id}
      className="group relative rounded-lg border bg-surface p-2.5 shadow-xs [contain-intrinsic-size:auto_7rem] [content-visibility:auto] focus-within:border-accent hover:border-line-strong"
    >
      <Link
        to="/tickets/$ticketId"
        params={{ ticketId: ticket.id }}
        title={ticket.title}
        className="line-clamp-3 text-sm leading-5 font-medium [overflow-wrap:anywhere] after:absolute after:inset-0 after:rounded-lg focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:outline-accent"
      >
        {ticket.title}
      </Link>
      <div className="mt-1.5 flex flex-wrap items-center gap-1">
        <Badge>{TYPE[ticket.ticket_type]}</Badge>
        {ticket.priority === "MEDIUM" ? null : <Badge tone={priority.tone}>{priority.label}</Badge>}
        {project === undefined ? null : (
          <span className="max-w-full truncate text-xs text-faint" title={project}>
            {project}
          </span>
        )}
      </div>
      {task === undefined ? null : (
        <div className="mt-1.5 flex min-w-0 items-center gap-1.5 text-xs text-soft">
          <TaskStatus task={task} sandbox={sandbox} />
          {task.attempt > 1 ? <span className="text-faint">attempt {task.attempt}</span> : null}
          {task.sandbox_id === null ? null : (
            <Link
              to="/sandbox/$sandboxId"
              params={{ sandboxId: task.sandbox_id }}
              aria-label={`Open sandbox of ${ticket.title}`}
              title={`Sandbox ${task.sandbox_id}`}
              className="relative z-10 ml-auto flex size-6 items-center justify-center rounded text-faint hover:bg-sunken hover:text-text"
            >
              <Boxes aria-hidden className="size-3.5" />
            </Link>
          )}
        </div>
      )}
      {task?.status === "failed" && task.error !== null ? (
        <p className="mt-1 line-clamp-2 text-xs text-bad [overflow-wrap:anywhere]" title={task.error}>
          {sentence(task.error)}
        </p>
      ) : null}
      <div className="mt-1 flex items-center gap-2 text-2xs text-faint">
        <Ago at={ticket.created_at} />
        {spent.cost_usd > 0 ? <span className="tabular-nums">{cost(spent)}</span> : null}
      </div>
    </li>
  );
});

/** The status of a task: a coloured dot with a label. */
export function TaskStatus({ task, sandbox }: { task: Parameters<typeof describeTask>[0]; sandbox: Sandbox | undefined }) {
  const state = describeTask(task, sandbox, useNow());
  return (
    <span className="flex min-w-0 items-center gap-1.5">
      <Dot tone={state.tone} pulse={state.isAtWork} />
      <span className="truncate">{state.label}</span>
    </span>
  );
}
