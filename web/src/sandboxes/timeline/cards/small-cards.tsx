import { plain } from "@/ui/text/ansi-text";
import { Dot } from "@/ui/badge";
import { FactList } from "@/ui/facts";
import { Ago } from "@/ui/time/time";
import { num, str, summary } from "@/sandboxes/event-data";
import type { Row } from "../grouping";
import { useTimelineState } from "../state";
import { summarize } from "../system-message";
import { Card } from "./card";
import { Edits } from "./edits";
import { RawEvents } from "./raw";

/** The start of a model reply: the line between two turns. */
export function TurnLine({ row }: { row: Row }) {
  const { highlight } = useTimelineState();
  const event = row.events[0];
  if (event === undefined) return null;
  const turn = num(event, "turn");
  const error = str(event, "error");
  if (error !== null) return <PlainCard row={row} />;
  return (
    <div
      data-seq={event.seq}
      className={`flex items-center gap-2 px-2 pt-2 pb-0.5 text-2xs text-faint ${highlight === event.seq ? "bg-accent-soft" : ""}`}
    >
      <span className="font-medium">{turn === null ? "Reply" : `Turn ${turn}`}</span>
      {str(event, "parent_tool_use_id") === null ? null : <span>sub-agent</span>}
      <span className="h-px flex-1 bg-line" />
      <span className="min-w-0 truncate">{plain(str(event, "model") ?? "")}</span>
      <Ago at={event.occurred_at} />
    </div>
  );
}

/** Files that changed outside a tool call. */
export function EditCard({ row }: { row: Row }) {
  return (
    <Card
      row={row}
      mark={
        <span className="mt-[7px] flex">
          <Dot tone="good" />
        </span>
      }
      head={<span className="font-medium">Files changed</span>}
    >
      <Edits edits={row.events} />
    </Card>
  );
}

/** What the agent started with, or reported about itself: the main facts in one line, all of them on demand. */
export function SystemMessageCard({ row }: { row: Row }) {
  const event = row.events[0];
  if (event === undefined) return null;
  const { title, summary: short, facts } = summarize(event);
  return (
    <Card
      row={row}
      className="text-soft"
      mark={
        <span className="mt-[7px] flex">
          <Dot tone="neutral" />
        </span>
      }
      head={
        <span className="flex min-w-0 items-baseline gap-2">
          <span className="shrink-0 font-medium">{plain(title)}</span>
          <span className="min-w-0 truncate text-xs text-faint">{plain(short.slice(0, 300))}</span>
        </span>
      }
      detail={facts.length === 0 ? undefined : <FactList facts={facts.map(([name, value]) => [plain(name), plain(value)] as const)} />}
    />
  );
}

/** An event of unknown type: its name and its data. */
export function PlainCard({ row }: { row: Row }) {
  const event = row.events[0];
  if (event === undefined) return null;
  return (
    <Card
      row={row}
      className="text-soft"
      mark={
        <span className="mt-[7px] flex">
          <Dot tone="neutral" />
        </span>
      }
      head={
        <span className="flex min-w-0 items-baseline gap-2">
          <span className="shrink-0 font-mono text-xs leading-5.5">{plain(event.event_type)}</span>
          <span className="min-w-0 truncate font-mono text-2xs text-faint">{plain(summary(event).slice(0, 300))}</span>
        </span>
      }
      detail={<RawEvents events={row.events} />}
    />
  );
}
