import { ChevronRight, ListCollapse } from "lucide-react";
import { Ago } from "@/ui/time/time";
import { cn } from "@/ui/cn";
import { duration } from "@/ui/time/format";
import { callOf } from "../call";
import { firstOf, type Row } from "../grouping";
import { useOpen, useTimelineState } from "../state";
import { RowCard } from "./row-card";

/** Consecutive minor calls in one expandable line. */
export function RunCard({ rows, runKey }: { rows: readonly Row[]; runKey: number }) {
  const { upTo, highlight } = useTimelineState();
  const [isOpen, setOpen] = useOpen(`run:${runKey}`);
  const past = upTo === null ? rows : rows.filter((row) => firstOf(row) <= upTo);
  const calls = past.filter((row) => row.kind === "call").map((row) => callOf(row, upTo));
  const first = past[0]?.events[0];
  if (first === undefined) return null;
  const isMarked = !isOpen && highlight !== null && past.some((row) => row.events.some((event) => event.seq === highlight));
  const spent = calls.reduce((sum, call) => sum + (call.durationMs ?? 0), 0);
  return (
    <div data-seq={first.seq} className={cn("min-w-0 rounded-md px-2 py-1", isMarked && "bg-accent-soft")}>
      <button
        type="button"
        data-toggle
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="flex w-full min-w-0 items-start gap-2 rounded text-left"
      >
        <ListCollapse aria-hidden className="mt-1 size-3.5 shrink-0 text-good" />
        <span className="flex min-w-0 flex-1 items-baseline gap-2">
          <span className="shrink-0">{wordsFor(calls.map((call) => call.tool))}</span>
          <span className="min-w-0 truncate font-mono text-xs text-faint">{calls.map((call) => call.title).join(" · ").slice(0, 400)}</span>
          <ChevronRight aria-hidden className={cn("size-3.5 shrink-0 self-center text-faint transition-transform", isOpen && "rotate-90")} />
        </span>
        <span className="flex shrink-0 gap-2 text-2xs leading-5.5 text-faint tabular-nums">
          {spent > 0 ? <span>{duration(spent)}</span> : null}
          <Ago at={first.occurred_at} />
        </span>
      </button>
      {isOpen ? (
        <div className="ml-1.5 border-l pl-2">
          {past.map((row) => (
            <RowCard key={row.id} row={row} revision={row.revision} />
          ))}
        </div>
      ) : null}
    </div>
  );
}

function wordsFor(tools: readonly string[]): string {
  const commands = tools.filter((tool) => tool === "Bash").length;
  const looks = tools.length - commands;
  const [ran, times] = [`Ran ${many(commands, "command")}`, many(looks, "time")];
  if (looks === 0) return ran;
  return commands === 0 ? `Read or searched ${times}` : `${ran}, read or searched ${times}`;
}

function many(amount: number, what: string): string {
  return `${amount} ${what}${amount === 1 ? "" : "s"}`;
}
