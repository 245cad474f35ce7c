import { HeartPulse } from "lucide-react";
import type { SandboxEvent } from "@/api/client";
import { plain } from "@/ui/text/ansi-text";
import { Ago, Clock } from "@/ui/time/time";
import { ScrollBox } from "@/ui/scroll/scroll-box";
import { duration } from "@/ui/time/format";
import { num, str } from "@/sandboxes/event-data";
import type { Row } from "../grouping";
import { useTimelineState } from "../state";
import { Card } from "./card";

const SHOWN = 60;

/** Consecutive heartbeats in one line. */
export function HeartbeatsCard({ row }: { row: Row }) {
  const { upTo } = useTimelineState();
  const beats = upTo === null ? row.events : row.events.filter((event) => event.seq <= upTo);
  const [first, last] = [beats[0], beats.at(-1)];
  if (first === undefined || last === undefined) return null;
  const span = Date.parse(last.occurred_at) - Date.parse(first.occurred_at);
  return (
    <Card
      row={row}
      className="text-xs text-faint"
      mark={<HeartPulse aria-hidden className="mt-1 size-3.5 shrink-0" />}
      head={
        <span className="leading-5.5">
          {beats.length === 1 ? "1 heartbeat" : `${beats.length} heartbeats · ${duration(span)}`} · last <Ago at={last.occurred_at} />
        </span>
      }
      detail={<Beats beats={beats} />}
    />
  );
}

function Beats({ beats }: { beats: readonly SandboxEvent[] }) {
  return (
    <ScrollBox label="Heartbeats" className="max-h-72 font-mono text-2xs">
      {beats.length > SHOWN ? <p>Last {SHOWN} of {beats.length}:</p> : null}
      <ol className="space-y-0.5">
      {beats.slice(-SHOWN).map((beat) => (
        <li key={beat.seq}>
          #{beat.seq} <Clock at={beat.occurred_at} /> {plain(describe(beat))}
        </li>
      ))}
      </ol>
    </ScrollBox>
  );
}

function describe(beat: SandboxEvent): string {
  const tool = str(beat, "current_tool");
  const memory = num(beat, "rss_mb");
  const spooled = num(beat, "spooled");
  return [
    str(beat, "status") ?? "",
    tool === null ? "" : `in ${tool}`,
    memory === null ? "" : `${Math.round(memory)} MB`,
    spooled === null || spooled === 0 ? "" : `${spooled} events waiting to be sent`,
  ]
    .filter(Boolean)
    .join(" · ");
}
