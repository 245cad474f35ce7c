import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { errorMessage, type Sandbox, type Task } from "@/api/client";
import { endReason } from "@/outcome/outcome";
import { SandboxOutcome } from "@/outcome/outcome-label";
import { SandboxDuration } from "@/sandboxes/sandbox-duration";
import { attemptsQuery } from "@/sandboxes/queries";
import { salvageLabel } from "@/sandboxes/salvage/salvage-text";
import { Badge } from "@/ui/badge";
import { cost, count } from "@/ui/text/numbers";
import { sentence } from "@/ui/text/sentence";
import { Ago } from "@/ui/time/time";

/** Every sandbox of a task, with its outcome. A reason that the task already shows as its error is not repeated. */
export function Attempts({ task }: { task: Task }) {
  const sandboxes = useQuery(attemptsQuery(task.id));
  if (sandboxes.isPending) return <p className="text-xs text-faint">Loading attempts…</p>;
  if (sandboxes.data === undefined) return <p className="text-xs text-bad">{sentence(`Attempts could not be loaded: ${errorMessage(sandboxes.error)}`)}</p>;
  if (sandboxes.data.items.length === 0) return <p className="text-xs text-faint">No attempts yet</p>;
  return (
    <ul className="divide-y rounded-md border">
      {sandboxes.data.items.map((sandbox) => (
        <Attempt key={sandbox.id} sandbox={sandbox} taskError={task.error} />
      ))}
    </ul>
  );
}

function Attempt({ sandbox, taskError }: { sandbox: Sandbox; taskError: string | null }) {
  const reason = endReason(sandbox);
  const name = sandbox.purpose === "verify" ? `Verification of attempt ${sandbox.attempt}` : `Attempt ${sandbox.attempt}`;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-2.5 py-1.5 text-xs">
      <Link
        to="/sandbox/$sandboxId"
        params={{ sandboxId: sandbox.id }}
        className="font-medium text-accent underline-offset-2 hover:underline"
      >
        {name}
      </Link>
      <SandboxOutcome sandbox={sandbox} />
      {salvageLabel(sandbox.salvage) === null ? null : <Badge tone="warn">{salvageLabel(sandbox.salvage)}</Badge>}
      {reason === null || reason === taskError ? null : (
        <span className="min-w-0 text-soft [overflow-wrap:anywhere]">{sentence(reason)}</span>
      )}
      <span className="ml-auto flex flex-wrap gap-x-3 text-faint tabular-nums">
        {sandbox.tokens > 0 ? <span>{count(sandbox.tokens)} tokens</span> : null}
        {sandbox.cost_usd > 0 ? <span>{cost(sandbox)}</span> : null}
        <SandboxDuration sandbox={sandbox} />
        <Ago at={sandbox.created_at} />
      </span>
    </li>
  );
}
