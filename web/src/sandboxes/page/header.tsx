import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { GitBranch } from "lucide-react";
import type { ReactNode } from "react";
import type { Sandbox, Task } from "@/api/client";
import { escapeControls } from "@/ui/text/control-characters";
import { CopyButton } from "@/ui/copy-button";
import { cost, count } from "@/ui/text/numbers";
import { LastSeen, LivenessBadge } from "../liveness/liveness-badge";
import type { Signs } from "../liveness/signs";
import { attemptsQuery } from "../queries";
import { StopButton } from "../stop-dialog";
import { Attempts } from "./attempts";

/** Title, status, cost and the Stop button of a sandbox. */
export function Header({ sandbox, task, signs }: { sandbox: Sandbox; task: Task | undefined; signs: Signs }) {
  const attempts = useQuery(attemptsQuery(sandbox.task_id));
  const model = sandbox.model ?? signs.model;
  return (
    <header className="shrink-0 space-y-1 border-b bg-surface px-3 py-2 max-sm:space-y-0.5 max-sm:py-1.5">
      <div className="flex min-w-0 items-center gap-x-3 gap-y-1 max-sm:gap-x-2">
        <h1 className="min-w-0 flex-1 text-base font-semibold truncate" title={task?.title ?? sandbox.id}>
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
        <span className="flex min-w-0 items-center gap-0.5 max-sm:hidden">
          <code className="min-w-0 font-mono [overflow-wrap:anywhere]">{sandbox.id}</code>
          <CopyButton text={sandbox.id} label="Copy sandbox ID" />
        </span>
        <Attempts sandbox={sandbox} all={attempts.data?.items ?? []} most={task?.max_attempts} />
        <span className="contents max-sm:hidden">
          <Fact label="Provider">{sandbox.provider}</Fact>
          {model === null ? null : <Fact label="Model">{escapeControls(model)}</Fact>}
        </span>
        {task?.branch_name ? (
          <span className="flex min-w-0 items-center gap-1 max-sm:hidden">
            <GitBranch aria-label="Branch" className="size-3.5 shrink-0 text-faint" />
            <span className="min-w-0 font-mono [overflow-wrap:anywhere]">{task.branch_name}</span>
          </span>
        ) : null}
        <Fact label="Cost">{cost(sandbox)}</Fact>
        <span className="contents max-sm:hidden">
          <Fact label="Tokens">{count(sandbox.tokens)}</Fact>
        </span>
        <span className="ml-auto max-sm:ml-0">
          <LastSeen sandbox={sandbox} signs={signs} />
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
