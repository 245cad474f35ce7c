import { Badge } from "@/ui/badge";
import { FactList, Facts } from "@/ui/facts";
import { Ago } from "@/ui/time/time";
import type { Limits, Overview } from "../overview";

/** How a provider limits each resource of a sandbox. */
function SandboxLimits({ limits: { memory, cpu, pids, disk } }: { limits: Limits }) {
  return (
    <div className="basis-full">
      <p className="mb-1 text-soft">How each sandbox is limited:</p>
      <FactList
        facts={[
          ["Memory", memory],
          ["Processors", cpu],
          ["Processes", pids],
          ["Disk", disk],
        ]}
      />
    </div>
  );
}

/** Providers, versions and running processes. */
export function PlatformFacts({ overview }: { overview: Overview }) {
  const { providers, versions, processes } = overview;
  return (
    <>
      <Facts title="Providers">
        <ul className="space-y-1.5 text-xs">
          {providers.map((provider) => (
            <li key={provider.name} className="flex flex-wrap items-center gap-2">
              <span className="font-medium">{provider.name}</span>
              {provider.default ? <Badge>default</Badge> : null}
              <Badge tone={provider.available ? "good" : "neutral"}>{provider.available ? "available" : "not available"}</Badge>
              <span className="text-soft">{provider.alive} running</span>
              {provider.limits === null ? null : <SandboxLimits limits={provider.limits} />}
              {provider.reason === null ? null : <span className="basis-full text-soft [overflow-wrap:anywhere]">{provider.reason}</span>}
            </li>
          ))}
        </ul>
      </Facts>
      <Facts title="Versions">
        <FactList
          facts={[
            ["OmoiOS", versions.omoi],
            ["Model", versions.model],
            ["PostgreSQL", versions.postgres],
            ["Agent SDK", versions.agent_sdk],
            ["Agent CLI", versions.agent_cli],
          ]}
        />
      </Facts>
      <Facts title="Running processes">
        {processes.length === 0 ? <p className="text-xs text-warn">No process is reporting, so no task is dispatched.</p> : null}
        <FactList
          facts={processes.map(({ name, since }) => [
            name,
            <span key={name}>
              started <Ago at={since} />
            </span>,
          ])}
        />
      </Facts>
    </>
  );
}
