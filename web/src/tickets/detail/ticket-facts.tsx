import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Ticket } from "@/api/client";
import { CloneNote } from "@/projects/clone-note";
import { projectName, useProject } from "@/projects/queries";
import { Badge } from "@/ui/badge";
import { cn } from "@/ui/cn";
import { cost, count, usd } from "@/ui/text/numbers";
import { Ago } from "@/ui/time/time";
import { costOf } from "../columns";
import { AcceptanceCommands } from "./acceptance-commands";
import { TicketLink } from "./dependencies";
import { PRIORITY, TYPE } from "../labels";

/** The properties of a ticket. */
export function TicketFacts({ ticket }: { ticket: Ticket }) {
  const project = useProject(ticket.project_id);
  const tokens = (ticket.tasks ?? []).reduce((sum, task) => sum + task.tokens, 0);
  const dependencies = ticket.depends_on ?? [];
  return (
    <dl className="grid gap-x-6 gap-y-3 text-sm max-lg:grid-cols-2">
      <Fact label="Project">
        <Link to="/" search={{ project: ticket.project_id }} className="text-accent [overflow-wrap:anywhere] hover:underline">
          {project === undefined ? "…" : projectName(project)}
        </Link>
      </Fact>
      <Fact label="Type">{TYPE[ticket.ticket_type]}</Fact>
      <Fact label="Priority">
        <Badge tone={PRIORITY[ticket.priority].tone}>{PRIORITY[ticket.priority].label}</Badge>
      </Fact>
      <Fact label="Cost">
        <span className="tabular-nums">
          {cost(costOf(ticket))}
          {ticket.budget_usd === null ? "" : `, budget ${usd(ticket.budget_usd)} per task`}
        </span>
        <span className="block text-xs text-faint tabular-nums">{count(tokens)} tokens</span>
      </Fact>
      <Fact label="Created">
        <Ago at={ticket.created_at} />
      </Fact>
      {dependencies.length === 0 ? null : (
        <Fact label="Depends on">
          <ul className="space-y-0.5 text-xs">
            {dependencies.map((ticketId) => (
              <li key={ticketId} className="min-w-0">
                <TicketLink ticketId={ticketId} />
              </li>
            ))}
          </ul>
        </Fact>
      )}
      {project === undefined ? null : (
        <Fact label="Repository" isWide>
          <CloneNote project={project} />
        </Fact>
      )}
      <Fact label="Acceptance commands" isWide>
        <AcceptanceCommands project={project?.settings.acceptance ?? []} ticket={ticket.acceptance} />
      </Fact>
    </dl>
  );
}

function Fact({ label, isWide = false, children }: { label: string; isWide?: boolean; children: ReactNode }) {
  return (
    <div className={cn("min-w-0", isWide && "max-lg:col-span-2")}>
      <dt className="text-xs text-faint">{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
