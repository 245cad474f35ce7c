import { Pause, Play, Radio, StepBack, StepForward } from "lucide-react";
import { useState } from "react";
import { useShortcuts } from "@/shell/shortcuts/shortcuts";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Select } from "@/ui/form/field";
import { duration } from "@/ui/time/format";
import { useCollector } from "../feed/collector";
import type { Feed } from "../feed/feed";
import { Timeline, type Axis, type MarkerKind } from "./timeline";
import { COLOURS, Track } from "./track";
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
  /** The number of the last event to show; null when live. */
  upTo: number | null;
  onChange: (upTo: number | null) => void;
  /** Whether the sandbox is running. */
  isLive: boolean;
}

/** Controls to replay a session: any moment, at any speed, without pauses. */
export function ReplayBar({ feed, upTo, onChange, isLive }: ReplayProps) {
  const timeline = useCollector(feed, () => new Timeline());
  const [axis, setAxis] = useState<Axis>("short");
  const last = Math.max(0, timeline.steps.length - 1);
  const index = upTo === null ? last : timeline.indexOf(upTo);
  const move = (to: number) => {
    const step = timeline.steps[to];
    if (step !== undefined) onChange(step.seq);
  };
  const { isPlaying, play, pause, seek, speed, setSpeed } = usePlaying(timeline, axis, move);

  const leave = () => {
    pause();
    onChange(null);
  };
  const step = (by: number) => {
    pause();
    move(Math.min(last, Math.max(0, index + by)));
  };

  function toggle() {
    if (isPlaying) return pause();
    const from = index >= last ? 0 : index;
    if (from !== index) move(from);
    play(from);
  }

  useShortcuts("Replay", [
    { keys: ",", label: "Previous event", run: () => step(-1) },
    { keys: ".", label: "Next event", run: () => step(1) },
    { keys: "p", label: "Play or pause", run: toggle },
    { keys: "Escape", label: "Exit replay", run: leave },
  ]);

  if (timeline.steps.length < 2) return null;
  const now = timeline.steps[index]?.real ?? 0;
  return (
    <section aria-label="Replay" className="flex flex-wrap items-center gap-x-2 gap-y-1 border-t bg-surface px-2 py-1">
      <Steps index={index} last={last} isPlaying={isPlaying} onStep={step} onToggle={toggle} />
      <div className="flex min-w-24 flex-1">
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
      <Pace speed={speed} onSpeed={setSpeed} axis={axis} onAxis={setAxis} pauses={timeline.breaks.length} isHidden={upTo === null} />
      {upTo === null ? null : (
        <Button size="small" onClick={leave}>
          <Radio /> {isLive ? "Back to live" : "Go to end"}
        </Button>
      )}
    </section>
  );
}

function Steps(props: { index: number; last: number; isPlaying: boolean; onStep: (by: number) => void; onToggle: () => void }) {
  const { index, last, isPlaying, onStep } = props;
  const word = isPlaying ? "Pause" : "Play";
  return (
    <div className="flex items-center">
      <Button variant="quiet" size="icon" aria-label="Previous event" title="Previous event (,)" onClick={() => onStep(-1)} disabled={index === 0}>
        <StepBack />
      </Button>
      <Button variant="quiet" size="icon" aria-label={word} title={`${word} (p)`} onClick={props.onToggle}>
        {isPlaying ? <Pause /> : <Play />}
      </Button>
      <Button variant="quiet" size="icon" aria-label="Next event" title="Next event (.)" onClick={() => onStep(1)} disabled={index === last}>
        <StepForward />
      </Button>
    </div>
  );
}

function Pace(props: { speed: number; onSpeed: (speed: number) => void; axis: Axis; onAxis: (axis: Axis) => void; pauses: number; isHidden: boolean }) {
  const isShort = props.axis === "short";
  return (
    <span className={cn("flex items-center gap-x-2", props.isHidden && "max-sm:hidden")}>
      <Select aria-label="Speed" className="h-7 py-0 text-xs" value={props.speed} onChange={({ target }) => props.onSpeed(Number(target.value))}>
        {SPEEDS.map((each) => (
          <option key={each} value={each}>
            {each}×
          </option>
        ))}
      </Select>
      <Button
        variant="quiet"
        size="small"
        aria-pressed={isShort}
        className={cn(isShort && "bg-sunken text-text")}
        title={`${props.pauses} ${props.pauses === 1 ? "pause" : "pauses"} without events`}
        onClick={() => props.onAxis(isShort ? "real" : "short")}
      >
        Skip pauses
      </Button>
    </span>
  );
}

function Legend({ timeline }: { timeline: Timeline }) {
  return (
    <ul aria-label="Markers" className="sr-only items-center gap-2 text-2xs text-faint min-[1700px]:not-sr-only min-[1700px]:flex">
      {LEGEND.filter(({ kind }) => timeline.kinds.has(kind)).map(({ kind, label }) => (
        <li key={kind} className="flex items-center gap-1">
          <span aria-hidden className={cn("h-2 w-[3px] rounded-full", COLOURS[kind])} />
          {label}
        </li>
      ))}
    </ul>
  );
}
