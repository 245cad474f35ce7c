import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Sandbox } from "@/api/client";
import { endReason } from "@/outcome/outcome";
import { SandboxOutcome } from "@/outcome/outcome-label";
import { Badge } from "@/ui/badge";
import { Facts } from "@/ui/facts";
import { cost } from "@/ui/text/numbers";
import { sentence } from "@/ui/text/sentence";
import { Ago } from "@/ui/time/time";
import { Loading, LoadError } from "@/ui/loading/placeholders";
import { attemptsQuery } from "../queries";
import { salvageLabel } from "../salvage/salvage-text";

/** Every sandbox of this task, newest first. */
export function Attempts({ sandbox }: { sandbox: Sandbox }) {
  const attempts = useQuery(attemptsQuery(sandbox.task_id));
  return (
    <Facts title="Attempts">
      {attempts.isPending ? (
        <Loading what="attempts" />
      ) : attempts.data === undefined ? (
        <LoadError what="Attempts" error={attempts.error} retry={() => void attempts.refetch()} />
      ) : (
        <ul className="space-y-2 text-xs">
          {attempts.data.items.map((each) => (
            <li key={each.id} className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5">
              <span className="w-16 shrink-0 text-faint">attempt {each.attempt}</span>
              {each.id === sandbox.id ? (
                <span className="font-mono">
                  {each.id} <Badge>this sandbox</Badge>
                </span>
              ) : (
                <Link to="/sandbox/$sandboxId" params={{ sandboxId: each.id }} className="font-mono text-accent hover:underline">
                  {each.id}
                </Link>
              )}
              {each.purpose === "verify" ? <Badge tone="info">verification</Badge> : null}
              <SandboxOutcome sandbox={each} />
              {salvageLabel(each.salvage) === null ? null : <Badge tone="warn">{salvageLabel(each.salvage)}</Badge>}
              <span className="text-soft">{cost(each)}</span>
              <span className="text-faint">
                <Ago at={each.created_at} />
              </span>
              {endReason(each) === null ? null : (
                <span className="order-last basis-full pl-[4.75rem] text-soft [overflow-wrap:anywhere]">{sentence(endReason(each) ?? "")}</span>
              )}
              {each.id === sandbox.id ? null : (
                <Link
                  to="/sandboxes/compare"
                  search={{ a: sandbox.id, b: each.id }}
                  className="text-accent underline-offset-2 hover:underline"
                  aria-label={`Compare with ${each.id}`}
                >
                  compare
                </Link>
              )}
            </li>
          ))}
        </ul>
      )}
    </Facts>
  );
}
