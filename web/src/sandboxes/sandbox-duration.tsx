import type { Sandbox } from "@/api/client";
import { useNow } from "@/ui/time/time";
import { duration } from "@/ui/time/format";

/** How long a sandbox has been running or ran. */
export function SandboxDuration({ sandbox }: { sandbox: Sandbox }) {
  const startedAt = Date.parse(sandbox.created_at);
  return sandbox.ended_at === null ? <RunningDuration startedAt={startedAt} /> : duration(Date.parse(sandbox.ended_at) - startedAt);
}

function RunningDuration({ startedAt }: { startedAt: number }) {
  const now = useNow();
  return <span className="tabular-nums">{duration(Math.max(0, Math.floor((now - startedAt) / 1000) * 1000))}</span>;
}
