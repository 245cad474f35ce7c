import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Download } from "lucide-react";
import type { ReactNode } from "react";
import type { Sandbox } from "@/api/client";
import { SandboxOutcome } from "@/outcome/outcome-label";
import { buttonStyle } from "@/ui/button";
import { escapeControls } from "@/ui/text/control-characters";
import { FactList, Facts } from "@/ui/facts";
import { bytes, cost, count } from "@/ui/text/numbers";
import { capitalized } from "@/ui/text/sentence";
import { Exact, Since } from "@/ui/time/time";
import { duration } from "@/ui/time/format";
import { useCollector } from "../feed/collector";
import { taskQuery } from "../queries";
import { stopReason } from "../stop-reason";
import type { ViewProps } from "../page/view";
import { Attempts } from "./attempts";
import { FactReader, ranked } from "./facts";
import { Logs } from "./logs";

/** Everything about a sandbox other than its events. */
export function DetailsView({ sandbox, feed }: ViewProps) {
  const { facts } = useCollector(feed, () => new FactReader());
  return (
    <div className="@container h-full overflow-auto">
      <div className="mx-auto grid max-w-6xl grid-cols-1 gap-3 p-3 @3xl:grid-cols-2">
        <State sandbox={sandbox} />
        <Resources sandbox={sandbox} turns={facts.turns} />
        <Place sandbox={sandbox} workspace={facts.workspace} />
        <Assignment sandbox={sandbox} finder={facts} />
        <Environment variables={facts.environment} />
        {sandbox.task_id === null ? null : <Attempts sandbox={sandbox} />}
        <Facts
          title={`Events (${count(sandbox.last_seq)})`}
          action={
            <a
              href={`/api/v1/sandboxes/${encodeURIComponent(sandbox.id)}/transcript`}
              download={`${sandbox.id}.jsonl`}
              className={buttonStyle({ variant: "quiet", size: "small" })}
            >
              <Download aria-hidden /> Download transcript
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
  const none = sandbox.ended_at === null ? "None yet" : "None";
  return (
    <Facts title="Status">
      <FactList
        facts={[
          ["Outcome", <SandboxOutcome key="outcome" sandbox={sandbox} />],
          ["Status", capitalized(sandbox.status)],
          ["End reason", sandbox.end_reason],
          ["Started", moment(sandbox.created_at)],
          ["Ended", sandbox.ended_at === null ? null : moment(sandbox.ended_at)],
          ["Duration", sandbox.ended_at === null ? null : duration(Date.parse(sandbox.ended_at) - Date.parse(sandbox.created_at))],
          ["Last activity", sandbox.last_work_at === null ? none : moment(sandbox.last_work_at)],
          ["Last heartbeat", sandbox.last_heartbeat_at === null ? none : moment(sandbox.last_heartbeat_at)],
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
        <p className="mt-2 text-xs text-faint">{sandbox.ended_at === null ? "The provider has not reported usage yet." : "The sandbox ended before usage was measured."}</p>
      ) : null}
    </Facts>
  );
}

function Place({ sandbox, workspace }: { sandbox: Sandbox; workspace: string | null }) {
  return (
    <Facts title="Sandbox">
      <FactList
        facts={[
          ["ID", <Code key="id">{sandbox.id}</Code>],
          ["Provider", sandbox.provider],
          ["Provider reference", sandbox.provider_ref === null ? null : <Code key="ref">{sandbox.provider_ref}</Code>],
          ["Purpose", sandbox.purpose === "verify" ? "Verify a result" : sandbox.spec_id === null ? "Work on the task" : "Work on the spec"],
          ["Attempt", sandbox.attempt],
          ["Fence", sandbox.fence],
          ["Workspace", workspace === null ? null : <Code key="cwd">{escapeControls(workspace)}</Code>],
        ]}
      />
    </Facts>
  );
}

/** The assignment of the worker, without secrets. */
function Assignment({ sandbox, finder }: { sandbox: Sandbox; finder: FactReader["facts"] }) {
  const task = useQuery(taskQuery(sandbox.task_id));
  return (
    <Facts title="Assignment">
      <FactList
        facts={[
          [
            "Task",
            task.data === undefined ? null : (
              <Link key="task" to="/tickets/$ticketId" params={{ ticketId: task.data.ticket_id }} className="text-accent hover:underline">
                {escapeControls(task.data.title)}
              </Link>
            ),
          ],
          ["Spec", sandbox.spec_id === null ? null : <Code key="spec">{sandbox.spec_id}</Code>],
          ["Branch", finder.branch === null ? null : <Code key="branch">{escapeControls(finder.branch)}</Code>],
          ["Commit", finder.commit === null ? null : <Code key="commit">{escapeControls(finder.commit)}</Code>],
          ["Model", (sandbox.model ?? finder.model) === null ? null : escapeControls(sandbox.model ?? finder.model ?? "")],
          ["Mode", finder.mode === null ? null : escapeControls(finder.mode)],
          ["Iterations", finder.maxIterations === null ? null : `at most ${finder.maxIterations}`],
          ["Attempts", task.data === undefined ? null : `at most ${task.data.max_attempts}`],
          ["Permissions", finder.permissionMode === null ? null : escapeControls(finder.permissionMode)],
          ["Tools", finder.tools.length === 0 ? null : escapeControls(finder.tools.join(", "))],
          ["Session", finder.sessionId === null ? null : <Code key="session">{escapeControls(finder.sessionId)}</Code>],
          ["Resumed from", finder.resumedSessionId === null ? null : <Code key="from">{escapeControls(finder.resumedSessionId)}</Code>],
          ["Stop reason", finder.stopReason === null ? null : escapeControls(stopReason(finder.stopReason))],
        ]}
      />
    </Facts>
  );
}

/** The environment of the worker, without its token. */
function Environment({ variables }: { variables: FactReader["facts"]["environment"] }) {
  if (variables.length === 0) return null;
  return (
    <Facts title="Environment">
      <FactList facts={variables.map(([name, value]) => [name, <Code key={name}>{escapeControls(value)}</Code>] as const)} />
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
