import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type { Ticket } from "@/api/client";
import { ticketStyle } from "@/outcome/outcome";
import { usePageTitle } from "@/shell/page-title";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Prose } from "@/ui/text/markdown";
import { Loading, LoadError } from "@/ui/loading/placeholders";
import { useRunningSandboxes } from "../running-sandboxes";
import { lastFilter } from "../board/last-filter";
import { CancelDialog } from "./cancel-dialog";
import { ticketQuery } from "../queries";
import { isOpen } from "../task-status";
import { TaskPanel } from "./task-panel";
import { TicketFacts } from "./ticket-facts";

const route = getRouteApi("/tickets/$ticketId");

export function TicketPage() {
  const { ticketId } = route.useParams();
  const ticket = useQuery(ticketQuery(ticketId));
  usePageTitle(ticket.data?.title ?? "Ticket");
  if (ticket.isPending) return <Loading what="the ticket" />;
  if (ticket.data === undefined)
    return <LoadError what="The ticket" error={ticket.error} retry={() => void ticket.refetch()} />;
  return <TicketView key={ticketId} ticket={ticket.data} />;
}

function TicketView({ ticket }: { ticket: Ticket }) {
  const alive = useRunningSandboxes();
  const [asks, setAsks] = useState(false);
  const look = ticketStyle(ticket);
  const tasks = ticket.tasks ?? [];
  return (
    <article className="mx-auto max-w-6xl px-4 py-4">
      <header className="mb-4 space-y-2">
        <Link to="/" search={lastFilter()} className="text-xs text-faint hover:underline">
          Board
        </Link>
        <div className="flex flex-wrap items-start gap-x-3 gap-y-2 max-sm:items-center">
          <h1 className="min-w-0 flex-1 basis-64 text-xl max-sm:basis-full leading-7 font-semibold [overflow-wrap:anywhere]">{ticket.title}</h1>
          <span role="status" className="py-1">
            <Badge tone={look.tone}>{look.label}</Badge>
          </span>
          {tasks.some(isOpen) ? (
            <Button variant="danger" size="small" onClick={() => setAsks(true)}>
              Cancel ticket
            </Button>
          ) : null}
        </div>
      </header>
      <div className="grid gap-6 lg:grid-cols-[minmax(0,1fr)_16rem]">
        <div className="min-w-0 space-y-5">
          {ticket.description.trim() === "" ? (
            <p className="text-faint">No description</p>
          ) : (
            <Prose>{ticket.description}</Prose>
          )}
          <h2 className="sr-only">Tasks</h2>
          {tasks.map((task) => (
            <TaskPanel
              key={task.id}
              task={task}
              sandbox={alive.get(task.sandbox_id ?? "")}
              isOnly={tasks.length === 1 && task.title === ticket.title}
            />
          ))}
        </div>
        <aside aria-label="Ticket details" className="max-lg:order-first max-lg:rounded-lg max-lg:border max-lg:bg-surface max-lg:p-3">
          <TicketFacts ticket={ticket} />
        </aside>
      </div>
      {asks ? <CancelDialog what={{ ticketId: ticket.id, title: ticket.title }} onClose={() => setAsks(false)} /> : null}
    </article>
  );
}
