import { memo, useRef, type KeyboardEvent, type PointerEvent } from "react";
import { cn } from "@/ui/cn";
import { clock, duration } from "@/ui/time/format";
import { columns, type Axis, type MarkerKind, type Timeline } from "./timeline";

export const COLOURS: Record<MarkerKind, string> = { error: "bg-bad", phase: "bg-warn", message: "bg-info", edit: "bg-accent" };
const COLUMNS = 400;
const PAGE = 10;

/** The time line as a slider with markers. */
export function Track(props: {
  timeline: Timeline;
  axis: Axis;
  /** The index among the steps. */
  index: number;
  onMove: (index: number) => void;
}) {
  const { timeline, axis, index } = props;
  const bar = useRef<HTMLDivElement>(null);
  const last = Math.max(0, timeline.steps.length - 1);
  const length = timeline.length(axis) || 1;
  const step = timeline.steps[index];
  const share = `${((step?.[axis] ?? 0) / length) * 100}%`;

  function follow(event: PointerEvent) {
    const box = bar.current?.getBoundingClientRect();
    if (box === undefined) return;
    const part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    props.onMove(timeline.indexAt(part * length, axis));
  }

  function onKeyDown(event: KeyboardEvent) {
    const to = target(event.key, index, last);
    if (to === null) return;
    event.preventDefault();
    props.onMove(Math.min(last, Math.max(0, to)));
  }

  return (
    <div
      role="slider"
      tabIndex={0}
      aria-label="Replay position"
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={index}
      aria-valuetext={step === undefined ? "no events yet" : `event ${step.seq}, ${step.type}, at ${clock(step.at)}`}
      className="relative flex h-8 min-w-0 flex-1 cursor-pointer touch-none items-center rounded px-2"
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        follow(event);
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) follow(event);
      }}
    >
      <div ref={bar} className="relative h-1.5 w-full rounded-full bg-line-strong/60">
        <div className="absolute inset-y-0 left-0 rounded-full bg-accent/50" style={{ width: share }} />
        <Marks timeline={timeline} axis={axis} length={length} amount={timeline.markers.length} />
        <span
          className="absolute top-1/2 size-3.5 -translate-1/2 rounded-full border-2 border-surface bg-accent shadow-sm"
          style={{ left: share }}
        />
      </div>
    </div>
  );
}

/** Shortened pauses and markers. They do not change while a replay moves. */
const Marks = memo(function Marks({ timeline, axis, length }: { timeline: Timeline; axis: Axis; length: number; amount: number }) {
  return (
    <>
      {axis === "short"
        ? timeline.breaks.slice(-COLUMNS).map((pause, place) => (
            <span
              key={place}
              title={`no events for ${duration(pause.lasted)}`}
              className="absolute -top-1 h-3.5 w-1 border-x border-faint bg-surface"
              style={{ left: `${(pause.short / length) * 100}%` }}
            />
          ))
        : null}
      {columns(timeline, axis, COLUMNS).map(({ column, kind }) => (
        <span
          key={column}
          className={cn("absolute -top-2 h-1.5 w-[3px] -translate-x-1/2 rounded-full", COLOURS[kind])}
          style={{ left: `${(column / COLUMNS) * 100}%` }}
        />
      ))}
    </>
  );
});

function target(key: string, index: number, last: number): number | null {
  switch (key) {
    case "ArrowLeft":
    case "ArrowDown":
      return index - 1;
    case "ArrowRight":
    case "ArrowUp":
      return index + 1;
    case "PageDown":
      return index - PAGE;
    case "PageUp":
      return index + PAGE;
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return null;
  }
}
