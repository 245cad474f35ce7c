import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Download } from "lucide-react";
import type { ReactNode } from "react";
import type { Sandbox } from "@/api/client";
import { SandboxOutcome } from "@/outcome/outcome-label";
import { buttonLook } from "@/ui/button";
import { writeOut } from "@/ui/text/control-characters";
import { FactList, Facts } from "@/ui/facts";
import { bytes, cost, count } from "@/ui/text/numbers";
import { Exact, Since } from "@/ui/time/time";
import { duration } from "@/ui/time/format";
import { useCollected } from "../feed/collector";
import { taskQuery } from "../queries";
import { stopReason } from "../stop-reason";
import type { ViewProps } from "../page/view";
import { Attempts } from "./attempts";
import { FactFinder, ranked } from "./facts";
import { Logs } from "./logs";

/** Everything about a sandbox that is not what happened in it. */
export function DetailsView({ sandbox, feed }: ViewProps) {
  const { facts } = useCollected(feed, () => new FactFinder());
  return (
    <div className="@container h-full overflow-auto">
      <div className="mx-auto grid max-w-6xl grid-cols-1 gap-3 p-3 @3xl:grid-cols-2">
        <State sandbox={sandbox} />
        <Resources sandbox={sandbox} turns={facts.turns} />
        <Place sandbox={sandbox} workspace={facts.workspace} />
        <Assignment sandbox={sandbox} finder={facts} />
        <Environment variables={facts.environment} />
        <Attempts sandbox={sandbox} />
        <Facts
          title={`Events (${count(sandbox.last_seq)})`}
          action={
            <a
              href={`/api/v1/sandboxes/${encodeURIComponent(sandbox.id)}/transcript`}
              download={`${sandbox.id}.jsonl`}
              className={buttonLook({ variant: "quiet", size: "small" })}
            >
              <Download aria-hidden /> Transcript
            </a>
          }
        >
          <FactList facts={ranked(sandbox.event_counts).map(([type, many]) => [type, count(many)] as const)} />
        </Facts>
        <div className="@3xl:col-span-2">
          <Logs sandbox={sandbox} />
        </div>
      </div>
    </div>
  );
}

function State({ sandbox }: { sandbox: Sandbox }) {
  return (
    <Facts title="State">
      <FactList
        facts={[
          ["Outcome", <SandboxOutcome key="outcome" sandbox={sandbox} />],
          ["State", sandbox.status],
          ["Why it ended", sandbox.end_reason],
          ["Begun", moment(sandbox.created_at)],
          ["Ended", sandbox.ended_at === null ? null : moment(sandbox.ended_at)],
          ["Lasted", sandbox.ended_at === null ? null : duration(Date.parse(sandbox.ended_at) - Date.parse(sandbox.created_at))],
          ["Last work", sandbox.last_work_at === null ? "none yet" : moment(sandbox.last_work_at)],
          ["Last heartbeat", sandbox.last_heartbeat_at === null ? "none yet" : moment(sandbox.last_heartbeat_at)],
          ["Events removed", sandbox.pruned_at === null ? null : moment(sandbox.pruned_at)],
        ]}
      />
    </Facts>
  );
}

function Resources({ sandbox, turns }: { sandbox: Sandbox; turns: number | null }) {
  return (
    <Facts title="Cost and resources">
      <FactList
        facts={[
          ["Cost", cost(sandbox)],
          ["Tokens", count(sandbox.tokens)],
          ["Turns", turns],
          ["Memory", sandbox.memory_bytes === null ? null : bytes(sandbox.memory_bytes)],
          ["CPU time", sandbox.cpu_seconds === null ? null : duration(sandbox.cpu_seconds * 1000)],
          ["Disk", sandbox.disk_bytes === null ? null : bytes(sandbox.disk_bytes)],
          ["Processes", sandbox.pids],
        ]}
      />
      {sandbox.memory_bytes === null && sandbox.disk_bytes === null ? (
        <p className="mt-2 text-xs text-faint">{sandbox.ended_at === null ? "The provider has not measured it yet." : "It ended before it was measured."}</p>
      ) : null}
    </Facts>
  );
}

function Place({ sandbox, workspace }: { sandbox: Sandbox; workspace: string | null }) {
  return (
    <Facts title="Where it runs">
      <FactList
        facts={[
          ["Sandbox", <Code key="id">{sandbox.id}</Code>],
          ["Provider", sandbox.provider],
          ["Reference", sandbox.provider_ref === null ? null : <Code key="ref">{sandbox.provider_ref}</Code>],
          ["Purpose", sandbox.purpose === "verify" ? "to verify a result" : "to work on the task"],
          ["Attempt", sandbox.attempt],
          ["Fence", sandbox.fence],
          ["Workspace", workspace === null ? null : <Code key="cwd">{writeOut(workspace)}</Code>],
        ]}
      />
    </Facts>
  );
}

/** What it was told to do; secrets are never part of it. */
function Assignment({ sandbox, finder }: { sandbox: Sandbox; finder: FactFinder["facts"] }) {
  const task = useQuery(taskQuery(sandbox.task_id));
  return (
    <Facts title="Assignment">
      <FactList
        facts={[
          [
            "Task",
            task.data === undefined ? null : (
              <Link key="task" to="/tickets/$ticketId" params={{ ticketId: task.data.ticket_id }} className="text-accent hover:underline">
                {writeOut(task.data.title)}
              </Link>
            ),
          ],
          ["Branch", finder.branch === null ? null : <Code key="branch">{writeOut(finder.branch)}</Code>],
          ["Commit", finder.commit === null ? null : <Code key="commit">{writeOut(finder.commit)}</Code>],
          ["Model", (sandbox.model ?? finder.model) === null ? null : writeOut(sandbox.model ?? finder.model ?? "")],
          ["Mode", finder.mode === null ? null : writeOut(finder.mode)],
          ["Iterations", finder.maxIterations === null ? null : `${finder.maxIterations} at the most`],
          ["Attempts", task.data === undefined ? null : `${task.data.max_attempts} at the most`],
          ["Permissions", finder.permissionMode === null ? null : writeOut(finder.permissionMode)],
          ["Tools", finder.tools.length === 0 ? null : writeOut(finder.tools.join(", "))],
          ["Session", finder.sessionId === null ? null : <Code key="session">{writeOut(finder.sessionId)}</Code>],
          ["Goes on from", finder.resumedSessionId === null ? null : <Code key="from">{writeOut(finder.resumedSessionId)}</Code>],
          ["Stopped by", finder.stopReason === null ? null : writeOut(stopReason(finder.stopReason))],
        ]}
      />
    </Facts>
  );
}

/** What its worker was given; the one secret among it, its token, is not told. */
function Environment({ variables }: { variables: FactFinder["facts"]["environment"] }) {
  if (variables.length === 0) return null;
  return (
    <Facts title="Environment">
      <FactList facts={variables.map(([name, value]) => [name, <Code key={name}>{writeOut(value)}</Code>] as const)} />
    </Facts>
  );
}

function Code({ children }: { children: ReactNode }) {
  return <code className="font-mono">{children}</code>;
}

function moment(at: string): ReactNode {
  return (
    <span key={at}>
      <Exact at={at} /> <span className="text-faint">(<Since at={at} />)</span>
    </span>
  );
}
