import type { SandboxEvent } from "@/api/client";
import { flag, str } from "../event-data";

export type MarkerKind = "error" | "phase" | "message" | "edit";

/** An event on two time axes, in milliseconds since the first event. */
export interface Step {
  seq: number;
  type: string;
  at: string;
  /** Real time. */
  real: number;
  /** Time with shortened pauses. */
  short: number;
}

export interface Marker {
  step: Step;
  kind: MarkerKind;
}

/** A shortened pause. */
export interface Break {
  short: number;
  lasted: number;
}

/** Longer gaps are pauses; each is shortened to `BREAK_MS`. */
export const IDLE_MS = 5_000;
export const BREAK_MS = 1_500;

export type Axis = "real" | "short";

/** The time line of a session: every event except heartbeats. */
export class Timeline {
  readonly steps: Step[] = [];
  readonly markers: Marker[] = [];
  readonly breaks: Break[] = [];
  /** The kinds of all markers. */
  readonly kinds = new Set<MarkerKind>();

  add(event: SandboxEvent): void {
    if (event.event_type === "agent.heartbeat") return;
    const last = this.steps.at(-1);
    // The clocks of the platform and the worker differ slightly; time must not run backwards.
    const gap = last === undefined ? 0 : Math.max(0, Date.parse(event.occurred_at) - Date.parse(last.at)) || 0;
    const isIdle = gap > IDLE_MS;
    if (last !== undefined && isIdle) this.breaks.push({ short: last.short + BREAK_MS / 2, lasted: gap });
    const step: Step = {
      seq: event.seq,
      type: event.event_type,
      at: gap === 0 && last !== undefined ? last.at : event.occurred_at,
      real: (last?.real ?? 0) + gap,
      short: (last?.short ?? 0) + (isIdle ? BREAK_MS : gap),
    };
    this.steps.push(step);
    const kind = markerOf(event);
    if (kind === null) return;
    this.markers.push({ step, kind });
    this.kinds.add(kind);
  }

  length(axis: Axis): number {
    return this.steps.at(-1)?.[axis] ?? 0;
  }

  /** Return the index of the last step at or before a time; 0 before the first. */
  indexAt(position: number, axis: Axis): number {
    return this.#last((step) => step[axis] <= position);
  }

  /** Return the index of the last step at or before an event's number. */
  indexOf(seq: number): number {
    return this.#last((step) => step.seq <= seq);
  }

  #last(holds: (step: Step) => boolean): number {
    let [low, high] = [0, this.steps.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const step = this.steps[middle];
      if (step !== undefined && holds(step)) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }
}

const PHASES = /^(?:iteration|spec)\./;
const MESSAGES = new Set(["agent.message", "agent.message_injected"]);
const ERRORS = new Set(["agent.error", "agent.stream_error", "agent.failed", "sandbox.lost", "iteration.failed", "spec.phase_failed"]);

export function markerOf(event: SandboxEvent): MarkerKind | null {
  if (ERRORS.has(event.event_type)) return "error";
  if (event.event_type === "agent.tool_completed") return flag(event, "is_error") ? "error" : null;
  if (event.event_type === "agent.file_edited") return "edit";
  if (MESSAGES.has(event.event_type)) return str(event, "parent_tool_use_id") === null ? "message" : null;
  return PHASES.test(event.event_type) ? "phase" : null;
}

const WEIGHT: Record<MarkerKind, number> = { error: 4, phase: 3, message: 2, edit: 1 };

/** Return markers for a number of columns; the most important one of each column wins. */
export function columns(timeline: Timeline, axis: Axis, count: number): { column: number; kind: MarkerKind }[] {
  const length = timeline.length(axis) || 1;
  const found = new Map<number, MarkerKind>();
  for (const { step, kind } of timeline.markers) {
    const column = Math.round((step[axis] / length) * count);
    const before = found.get(column);
    if (before === undefined || WEIGHT[kind] > WEIGHT[before]) found.set(column, kind);
  }
  return [...found].map(([column, kind]) => ({ column, kind }));
}
