import { useQuery } from "@tanstack/react-query";
import { Link, useLocation, useNavigate } from "@tanstack/react-router";
import { X } from "lucide-react";
import { useEffect, type ReactNode } from "react";
import { ApiError } from "@/api/client";
import { OUTCOME_STYLES, type Outcome } from "@/outcome/outcome";
import { follow, shouldOpenSandbox, useDemo } from "@/tickets/create/demo";
import { ticketQuery } from "@/tickets/queries";
import { Button } from "@/ui/button";

/** Guides through the demo: to its sandbox once it is created, then to its result. */
export function DemoGuide() {
  const ticketId = useDemo();
  return ticketId === null ? null : <Guide ticketId={ticketId} />;
}

function Guide({ ticketId }: { ticketId: string }) {
  const navigate = useNavigate();
  const path = useLocation({ select: (location) => location.pathname });
  const { data: ticket, error } = useQuery(ticketQuery(ticketId));
  const isGone = error instanceof ApiError && error.status === 404;
  const task = ticket?.tasks?.[0];
  const sandboxId = task?.sandbox_id ?? null;
  useEffect(() => {
    if (isGone) follow(null);
  }, [isGone]);
  useEffect(() => {
    if (sandboxId === null || path !== "/" || !shouldOpenSandbox(ticketId)) return;
    void navigate({ to: "/sandbox/$sandboxId", params: { sandboxId } });
  }, [ticketId, sandboxId, path, navigate]);
  if (task === undefined) return null;
  return (
    <div role="status" className="flex items-center justify-center gap-2 border-b bg-accent-soft px-3 py-1 text-xs">
      <p className="min-w-0">
        <Words status={task.status} outcome={task.outcome} />{" "}
        {sandboxId === null || path === `/sandbox/${sandboxId}` ? null : (
          <Step>
            <Link to="/sandbox/$sandboxId" params={{ sandboxId }}>
              {isOver(task.status) ? "Open sandbox" : "Watch the agent"}
            </Link>
          </Step>
        )}{" "}
        {isOver(task.status) && path !== `/tickets/${ticketId}` ? (
          <Step>
            <Link to="/tickets/$ticketId" params={{ ticketId }}>
              See the result
            </Link>
          </Step>
        ) : null}
      </p>
      <Button variant="quiet" size="icon" className="size-6" aria-label="Dismiss demo banner" onClick={() => follow(null)}>
        <X />
      </Button>
    </div>
  );
}

function Step({ children }: { children: ReactNode }) {
  return <span className="ml-1 font-semibold text-accent underline">{children}</span>;
}

function isOver(status: string): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

function Words({ status, outcome }: { status: string; outcome: Outcome }) {
  switch (status) {
    case "completed":
      return `The demo task is finished. Result: ${OUTCOME_STYLES[outcome].label.toLowerCase()}.`;
    case "failed":
    case "cancelled":
      return `The demo task has ${status === "failed" ? "failed" : "been cancelled"}.`;
    case "verifying":
      return "The agent has finished. Its acceptance command is running in a fresh sandbox.";
    case "running":
      return "An agent is working on the demo task in its sandbox.";
    default:
      return "A sandbox is being created for the demo task.";
  }
}
