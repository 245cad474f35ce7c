import { CircleAlert, Hourglass } from "lucide-react";
import { plain } from "@/ui/text/ansi-text";
import { Badge } from "@/ui/badge";
import { duration } from "@/ui/time/format";
import { cut, num, str } from "@/sandboxes/event-data";
import type { Row } from "../grouping";
import { Output } from "../output";
import { Card } from "./card";

/** An error with its type and a hint. */
export function ErrorCard({ row }: { row: Row }) {
  const event = row.events[0];
  const hint = str(event, "hint");
  const sort = str(event, "error_type");
  const partial = cut(event, "partial_output");
  const error = cut(event, "error");
  return (
    <Card
      row={row}
      className="border-bad/40 bg-bad-soft"
      mark={<CircleAlert aria-hidden className="mt-1 size-4 shrink-0 text-bad" />}
      head={
        <span className="flex flex-wrap items-baseline gap-x-2">
          <span className="font-semibold text-bad">{TITLES[event?.event_type ?? ""] ?? "Error"}</span>
          {sort === null || sort === "unknown" ? null : (
            <Badge tone="bad" className="border border-bad/40">
              {plain(sort)}
            </Badge>
          )}
        </span>
      }
      detail={partial.text === "" ? undefined : <Output cut={partial} label="Partial reply" />}
    >
      <div className="mt-1 ml-6 space-y-1 [overflow-wrap:anywhere]">
        <p className="whitespace-pre-wrap">{plain(error.text)}</p>
        {hint === null ? null : <p className="text-xs text-soft">{plain(hint)}</p>}
      </div>
    </Card>
  );
}

const TITLES: Record<string, string> = {
  "agent.failed": "The attempt failed",
  "agent.stream_error": "The model's reply was interrupted",
};

/** The model provider limits the request rate. */
export function RateLimitCard({ row }: { row: Row }) {
  const event = row.events[0];
  const [attempt, most, delay] = [num(event, "attempt"), num(event, "max_retries"), num(event, "retry_delay_ms")];
  return (
    <Card
      row={row}
      className="text-warn"
      mark={<Hourglass aria-hidden className="mt-1 size-3.5 shrink-0" />}
      head={
        <span className="text-xs leading-5.5">
          Rate limited{attempt === null ? "" : `, retry ${attempt}${most === null ? "" : ` of ${most}`}`}
          {delay === null ? "" : `, retrying in ${duration(delay)}`}
        </span>
      }
    />
  );
}
