import { Pause, Play, Radio, StepBack, StepForward } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Select } from "@/ui/field";
import { duration } from "@/ui/time";
import { useCollected } from "../feed/collected";
import type { Feed } from "../feed/feed";
import { COLOURS, Track } from "./track";
import { Timeline, type Axis, type MarkerKind } from "./timeline";
import { usePlaying } from "./use-playing";

const SPEEDS = [1, 2, 4, 8, 16];
const LEGEND: { kind: MarkerKind; label: string }[] = [
  { kind: "edit", label: "edits" },
  { kind: "message", label: "messages" },
  { kind: "phase", label: "phases" },
  { kind: "error", label: "errors" },
];

export interface ReplayProps {
  feed: Feed;
  /** Changes with the feed. */
  version: number;
  /** The number of the last event that is shown; null when it is live. */
  upTo: number | null;
  onChange: (upTo: number | null) => void;
  /** Whether the run still goes on. */
  isLive: boolean;
}

/** Go through a run again: any moment of it, at any speed, without its pauses. */
export function ReplayBar({ feed, upTo, onChange, isLive }: ReplayProps) {
  const timeline = useCollected(feed, () => new Timeline());
  const [axis, setAxis] = useState<Axis>("short");
  const last = Math.max(0, timeline.steps.length - 1);
  const index = upTo === null ? last : timeline.indexOf(upTo);
  const move = (to: number) => {
    const step = timeline.steps[to];
    if (step !== undefined) onChange(step.seq);
  };
  const { isPlaying, play, pause, seek, speed, setSpeed } = usePlaying(timeline, axis, move);

  const step = (by: number) => {
    pause();
    move(Math.min(last, Math.max(0, index + by)));
  };
  useStepKeys(step);

  function toggle() {
    if (isPlaying) return pause();
    const from = index >= last ? 0 : index;
    if (from !== index) move(from);
    play(from);
  }

  if (timeline.steps.length < 2) return null;
  const now = timeline.steps[index]?.real ?? 0;
  return (
    <section aria-label="Replay" className="flex flex-wrap items-center gap-x-2 gap-y-1 border-t bg-surface px-2 py-1">
      <div className="flex items-center">
        <Button variant="quiet" size="icon" aria-label="One event back" title="One event back (,)" onClick={() => step(-1)} disabled={index === 0}>
          <StepBack />
        </Button>
        <Button variant="quiet" size="icon" aria-label={isPlaying ? "Pause" : "Play"} title={isPlaying ? "Pause" : "Play"} onClick={toggle}>
          {isPlaying ? <Pause /> : <Play />}
        </Button>
        <Button variant="quiet" size="icon" aria-label="One event on" title="One event on (.)" onClick={() => step(1)} disabled={index === last}>
          <StepForward />
        </Button>
      </div>
      <div className="order-last flex w-full min-w-0 sm:order-none sm:w-auto sm:flex-1">
        <Track
          timeline={timeline}
          axis={axis}
          index={index}
          onMove={(to) => {
            seek(to);
            move(to);
          }}
        />
      </div>
      <span className="text-xs whitespace-nowrap text-soft tabular-nums">
        {duration(now)} / {duration(timeline.length("real"))}
      </span>
      <Legend timeline={timeline} />
      <Select aria-label="Speed" className="h-7 py-0 text-xs" value={speed} onChange={(event) => setSpeed(Number(event.target.value))}>
        {SPEEDS.map((each) => (
          <option key={each} value={each}>
            {each}×
          </option>
        ))}
      </Select>
      <Button
        variant="quiet"
        size="small"
        aria-pressed={axis === "short"}
        className={cn(axis === "short" && "bg-sunken text-text")}
        title={`${timeline.breaks.length} pauses`}
        onClick={() => setAxis(axis === "short" ? "real" : "short")}
      >
        Skip idle
      </Button>
      {upTo === null ? null : (
        <Button
          size="small"
          onClick={() => {
            pause();
            onChange(null);
          }}
        >
          <Radio /> {isLive ? "Back to live" : "Back to the end"}
        </Button>
      )}
    </section>
  );
}

function Legend({ timeline }: { timeline: Timeline }) {
  return (
    <ul aria-label="Marks" className="hidden items-center gap-2 text-2xs text-faint min-[1700px]:flex">
      {LEGEND.filter(({ kind }) => timeline.markers.some((marker) => marker.kind === kind)).map(({ kind, label }) => (
        <li key={kind} className="flex items-center gap-1">
          <span aria-hidden className={cn("h-2 w-[3px] rounded-full", COLOURS[kind])} />
          {label}
        </li>
      ))}
    </ul>
  );
}

/** `,` and `.` go one event back and on, wherever one is but in a field. */
function useStepKeys(step: (by: number) => void): void {
  const newest = useRef(step);
  useEffect(() => {
    newest.current = step;
  });
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent) {
      const place = event.target as HTMLElement | null;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (place?.closest("input, textarea, select, [contenteditable], [role=dialog]")) return;
      if (event.key === ",") newest.current(-1);
      else if (event.key === ".") newest.current(1);
      else return;
      event.preventDefault();
    }
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}
