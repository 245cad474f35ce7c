import type { Sandbox } from "@/api/client";
import { useConnectionState } from "@/stream/stream-provider";
import { Badge, Dot } from "@/ui/badge";
import { Ago, useNow } from "@/ui/time/time";
import { absolute, ago } from "@/ui/time/format";
import { Tip } from "@/ui/tooltip";
import { SandboxDuration } from "../sandbox-duration";
import { lastSeen, liveness } from "./liveness";
import type { Signs } from "./signs";

/** The status of a sandbox, with the reason in a tooltip. */
export function LivenessBadge({ sandbox, signs }: { sandbox: Sandbox; signs: Signs }) {
  const now = useNow();
  const link = useConnectionState();
  const said = liveness(sandbox, signs, now, link);
  return (
    <Tip
      text={said.why.map((line) => (
        <p key={line} className="[overflow-wrap:anywhere]">
          {line}
        </p>
      ))}
    >
      <button type="button" aria-label={`Status: ${said.label}. ${said.why.join(" ")}`} className="shrink-0 cursor-help rounded-full">
        <Badge tone={said.tone} className="py-0.5">
          <Dot tone={said.tone} pulse={said.isActive} />
          {said.label}
        </Badge>
      </button>
    </Tip>
  );
}

/** The time of the last event and the last heartbeat, or of the end. */
export function LastSeen({ sandbox, signs }: { sandbox: Sandbox; signs: Signs }) {
  const now = useNow();
  const last = lastSeen(sandbox, signs);
  if (sandbox.ended_at !== null) {
    return (
      <span className="text-xs text-faint tabular-nums">
        ended <Ago at={sandbox.ended_at} /> · duration <SandboxDuration sandbox={sandbox} />
      </span>
    );
  }
  return (
    <span className="text-xs text-faint tabular-nums">
      <LastTime what="event" at={last.event} now={now} />
      <span className="max-sm:hidden">
        {" "}
        · <LastTime what="heartbeat" at={last.heartbeat} now={now} />
      </span>
    </span>
  );
}

function LastTime({ what, at, now }: { what: string; at: number | null; now: number }) {
  if (at === null) return `no ${what} yet`;
  return (
    <>
      last {what}{" "}
      <time dateTime={new Date(at).toISOString()} title={absolute(at)}>
        {ago(at, now)}
      </time>
    </>
  );
}
