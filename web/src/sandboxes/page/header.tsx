import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check, Copy, GitBranch } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Sandbox, Task } from "@/api/client";
import { Button } from "@/ui/button";
import { writeOut } from "@/ui/controls";
import { count, usd } from "@/ui/figures";
import { LastHeard, LivenessBadge } from "../liveness-badge";
import type { Signs } from "../liveness-signs";
import { Attempts } from "./attempts";
import { attemptsQuery } from "./queries";
import { StopButton } from "./stop-button";

/** Which sandbox this is, how it is, what it costs, and the way to stop it. */
export function Header({ sandbox, task, signs }: { sandbox: Sandbox; task: Task | undefined; signs: Signs }) {
  const attempts = useQuery(attemptsQuery(sandbox.task_id));
  return (
    <header className="shrink-0 space-y-1 border-b bg-surface px-3 py-2">
      <div className="flex min-w-0 items-center gap-x-3 gap-y-1 max-sm:flex-wrap">
        <h1 className="min-w-0 flex-1 text-base font-semibold [overflow-wrap:anywhere] max-sm:basis-full sm:truncate" title={task?.title ?? sandbox.id}>
          {task === undefined ? (
            sandbox.id
          ) : (
            <Link to="/tickets/$ticketId" params={{ ticketId: task.ticket_id }} className="hover:underline">
              {task.title}
            </Link>
          )}
        </h1>
        <LivenessBadge sandbox={sandbox} signs={signs} />
        <StopButton sandbox={sandbox} />
      </div>
      <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-0.5 text-xs text-soft">
        <CopyId id={sandbox.id} />
        <Attempts sandbox={sandbox} all={attempts.data?.items ?? []} most={task?.max_attempts} />
        <Fact label="Provider">{sandbox.provider}</Fact>
        {signs.model === null ? null : <Fact label="Model">{writeOut(signs.model)}</Fact>}
        {task?.branch_name ? (
          <span className="flex min-w-0 items-center gap-1">
            <GitBranch aria-label="Branch" className="size-3.5 shrink-0 text-faint" />
            <span className="min-w-0 font-mono [overflow-wrap:anywhere]">{task.branch_name}</span>
          </span>
        ) : null}
        <Fact label="Cost">{usd(sandbox.cost_usd)}</Fact>
        <Fact label="Tokens">{count(sandbox.tokens)}</Fact>
        <span className="ml-auto max-sm:ml-0">
          <LastHeard sandbox={sandbox} signs={signs} />
        </span>
      </div>
    </header>
  );
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <span className="[overflow-wrap:anywhere]">
      <span className="text-faint">{label}</span> <span className="tabular-nums">{children}</span>
    </span>
  );
}

function CopyId({ id }: { id: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(id);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <span className="flex min-w-0 items-center">
      <code className="min-w-0 font-mono [overflow-wrap:anywhere]">{id}</code>
      <Button variant="quiet" size="small" className="size-6 px-0" aria-label={isCopied ? "Copied" : "Copy the sandbox's id"} onClick={() => void copy()}>
        {isCopied ? <Check className="!size-3.5" /> : <Copy className="!size-3.5" />}
      </Button>
    </span>
  );
}
