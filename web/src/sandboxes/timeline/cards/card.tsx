import { ChevronRight } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Ago } from "@/ui/time/time";
import { cn } from "@/ui/cn";
import type { Row } from "../grouping";
import { useOpen, useTimelineState } from "../state";
import { Actions } from "./actions";
import { RawEvents } from "./raw";

/** The frame of every card: an expandable line, its time, a link and its raw events. */
export function Card(props: {
  row: Row;
  /** A dot or an icon. */
  mark: ReactNode;
  head: ReactNode;
  /** Shown before the time. */
  aside?: ReactNode;
  /** Always shown below the line. */
  children?: ReactNode;
  /** Shown when expanded. */
  detail?: ReactNode;
  isOpenAtFirst?: boolean;
  className?: string;
  isNested?: boolean;
}) {
  const { row, detail } = props;
  const { highlight, upTo, current } = useTimelineState();
  const [isNear, setNear] = useState(false);
  const [isOpen, setOpen] = useOpen(`row:${row.id}`, props.isOpenAtFirst ?? false);
  const [isRaw, setRaw] = useOpen(`raw:${row.id}`);
  const first = row.events[0];
  if (first === undefined) return null;
  const isMarked = highlight !== null && row.events.some((event) => event.seq === highlight);
  return (
    <div
      data-seq={first.seq}
      onPointerEnter={() => setNear(true)}
      onPointerLeave={() => setNear(false)}
      onFocus={() => setNear(true)}
      className={cn(
        "relative min-w-0 rounded-md border border-transparent px-2 py-1",
        props.className,
        props.isNested && "ml-5 border-l-2 border-l-line-strong rounded-l-none",
        isMarked && "border-accent bg-accent-soft",
      )}
    >
      <div className="flex min-w-0 items-start gap-2">
        <Line isOpen={isOpen} onToggle={detail === undefined ? null : () => setOpen(!isOpen)}>
          {props.mark}
          <span className="min-w-0 flex-1">{props.head}</span>
        </Line>
        <span className="relative flex shrink-0 items-center gap-2 text-2xs leading-5.5 text-faint tabular-nums">
          {isNear || isRaw || current === first.seq ? <Actions seq={first.seq} isRaw={isRaw} onRaw={() => setRaw(!isRaw)} /> : null}
          {props.aside}
          <Ago at={first.occurred_at} />
        </span>
      </div>
      {props.children}
      {isOpen && detail !== undefined ? <div className="mt-1.5 mb-1 ml-4 min-w-0 space-y-2">{detail}</div> : null}
      {isRaw ? <RawEvents events={upTo === null ? row.events : row.events.filter((event) => event.seq <= upTo)} /> : null}
    </div>
  );
}

/** The first line of a card; a button if it can be expanded. */
function Line({ isOpen, onToggle, children }: { isOpen: boolean; onToggle: (() => void) | null; children: ReactNode }) {
  if (onToggle === null) return <div className="flex min-w-0 flex-1 items-start gap-2">{children}</div>;
  return (
    <button
      type="button"
      data-toggle
      aria-expanded={isOpen}
      onClick={onToggle}
      className="flex min-w-0 flex-1 items-start gap-2 rounded text-left"
    >
      {children}
      <ChevronRight aria-hidden className={cn("mt-1 size-3.5 shrink-0 text-faint transition-transform", isOpen && "rotate-90")} />
    </button>
  );
}
