import type { Sandbox } from "@/api/client";
import type { LinkState } from "@/live/connection";
import type { Tone } from "@/ui/badge";
import { sentence } from "@/ui/sentence";
import { ago, duration } from "@/ui/time";
import type { Signs } from "./liveness-signs";

export type LivenessState =
  | "starting"
  | "running"
  | "waiting"
  | "idle"
  | "stalled"
  | "stopping"
  | "lost"
  | "finished"
  | "failed"
  | "stopped"
  | "unknown";

export interface Liveness {
  state: LivenessState;
  label: string;
  tone: Tone;
  /** Whether something goes on right now. */
  isActive: boolean;
  /** Why it is called so, in sentences. */
  why: string[];
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** No heartbeat for so long, and the platform takes it for dead unless its provider knows better. */
export const SILENT_MS = 75 * SECOND;
/** No work for so long is worth saying. */
export const QUIET_MS = MINUTE;
/** It waits, and nothing came: the platform stops it. */
export const IDLE_MS = 10 * MINUTE;
/** It says that it runs and does nothing: the platform stops it and tries again. */
export const STUCK_MS = 15 * MINUTE;
const STARTING_MS = MINUTE;
/** Events by which an agent says how it ended. */
const OUTCOMES = ["agent.completed", "agent.failed"];
/** Why a sandbox ends that has run its checks. */
const CHECKED = "no longer needed";

/** What a sandbox does, by what is known and not by what it says of itself. */
export function liveness(sandbox: Sandbox, signs: Signs, now: number, link: LinkState): Liveness {
  const ended = ending(sandbox, signs);
  if (ended !== null) return ended;
  if (link === "lost") {
    const seen = signs.lastEventAt === null ? "" : ` It was last heard of ${ago(signs.lastEventAt, now)}.`;
    return say("unknown", "Connection lost", "warn", false, [
      `The page does not hear from the server, so what the sandbox does now is not known.${seen}`,
    ]);
  }
  if (sandbox.status === "stopping") {
    return say("stopping", "Stopping", "warn", true, [
      `It was asked to stop${sandbox.end_reason === null ? "" : `: ${sandbox.end_reason}`}. Its work is being saved.`,
    ]);
  }
  if (sandbox.status === "creating") return starting(sandbox, now);
  if (sandbox.purpose === "verify") {
    return say("running", "Checking", "good", true, ["It runs the checks of the result; no agent is at work here."]);
  }
  if (signs.lastEventAt === null && signs.beatAt === null) {
    return say("unknown", "Running", "neutral", false, ["The events that tell what it does are not loaded yet."]);
  }
  return working(sandbox, signs, now);
}

function starting(sandbox: Sandbox, now: number): Liveness {
  const age = now - Date.parse(sandbox.created_at);
  const why = [`The ${sandbox.provider} provider is making it, since ${duration(age)}.`];
  if (age > STARTING_MS) why.push("That is longer than usual; the logs under Details may say why.");
  return say("starting", "Starting", age > STARTING_MS ? "warn" : "info", true, why);
}

function working(sandbox: Sandbox, signs: Signs, now: number): Liveness {
  const beat = newest(signs.beatAt, sandbox.last_heartbeat_at, sandbox.created_at);
  const silence = now - newest(beat, signs.lastEventAt);
  if (silence > SILENT_MS) {
    return say("stalled", `Stalled, silent ${duration(silence)}`, "bad", false, [
      `Neither an event nor a heartbeat came for ${duration(silence)}; one is due every 30 s.`,
      "The platform asks its provider whether it lives, and tries the task again if not.",
    ]);
  }
  const rest = now - newest(signs.lastWorkAt, sandbox.last_work_at, sandbox.created_at);
  if (signs.waitingSince !== null) return waiting(signs, now);
  const tool = signs.tool;
  if (rest > STUCK_MS) {
    return say("stalled", `Stalled, no work ${duration(rest)}`, "bad", false, [
      `Heartbeats come, but nothing was done for ${duration(rest)}.`,
      "After 15 minutes the platform stops it and tries the task again.",
    ]);
  }
  if (tool !== null) {
    return say("running", `Running ${tool.name}`, "good", true, [
      `${tool.name} runs since ${duration(now - tool.since)}.`,
    ]);
  }
  if (rest > QUIET_MS) {
    return say("idle", `Idle ${duration(Math.floor(rest / MINUTE) * MINUTE)}`, "warn", false, [
      `It lives, but neither a tool runs nor did the model answer for ${duration(rest)}.`,
      "After 15 minutes without work the platform stops it and tries the task again.",
    ]);
  }
  if (signs.limitedAt !== null) {
    return say("running", "Running, rate limited", "warn", true, ["The model's host asks for patience; it is tried again by itself."]);
  }
  return say("running", "Running", "good", true, ["The model is at work on its next reply."]);
}

function waiting(signs: Signs, now: number): Liveness {
  const since = now - (signs.waitingSince ?? now);
  const left = signs.lingerMs === null ? null : signs.lingerMs - since;
  return say("waiting", "Waiting", "info", false, [
    `The agent is done and waits for a message since ${duration(since)}.`,
    left !== null && left > 0 ? `It goes in ${duration(left)} if none comes.` : "It goes soon if none comes.",
  ]);
}

function ending(sandbox: Sandbox, signs: Signs): Liveness | null {
  const reason = sandbox.end_reason === null ? [] : [sentence(`Reason: ${sandbox.end_reason}`)];
  switch (sandbox.status) {
    case "lost":
      return say("lost", "Lost", "bad", false, ["It ended without a word.", ...reason]);
    case "failed":
      if (sandbox.purpose === "verify") return say("failed", "Failed", "bad", false, ["It ended before the result was checked.", ...reason]);
      return say("failed", "Failed", "bad", false, ["It could not be made, or its worker gave up.", ...reason]);
    case "stopped":
      if (sandbox.purpose === "verify") return checked(sandbox, reason);
      if (signs.outcome === "completed") return finished(signs, reason);
      if (signs.outcome === "failed") return say("failed", "Failed", "bad", false, ["The agent gave up.", ...reason]);
      if (OUTCOMES.some((type) => (sandbox.event_counts[type] ?? 0) > 0)) {
        return say("unknown", "Ended", "neutral", false, ["The events that tell how it ended are not loaded yet.", ...reason]);
      }
      return say("stopped", "Stopped", "neutral", false, ["It was stopped before the agent said that it was done.", ...reason]);
    default:
      return null;
  }
}

/** The verdict is an event of the attempt; here nobody says what the checks found. */
function checked({ end_reason }: Sandbox, reason: string[]): Liveness {
  if (end_reason !== CHECKED) return say("stopped", "Stopped", "neutral", false, ["It was stopped before the result was checked.", ...reason]);
  return say("finished", "Finished", "neutral", false, ["It was there to check the result of an attempt; what was found is told at the end of that attempt."]);
}

/** The agent's word alone makes nothing green. */
function finished({ verdict }: Signs, reason: string[]): Liveness {
  const said = "The agent said that its work was done.";
  if (verdict === true) return say("finished", "Finished", "good", false, [said, "The platform checked the result, and it passed.", ...reason]);
  if (verdict === false) return say("finished", "Finished, not verified", "warn", false, [said, "The platform checked the result, and it did not pass.", ...reason]);
  return say("finished", "Finished", "neutral", false, [said, "The platform has not checked the result.", ...reason]);
}

function say(state: LivenessState, label: string, tone: Tone, isActive: boolean, why: string[]): Liveness {
  return { state, label, tone, isActive, why };
}

function newest(...moments: (number | string | null)[]): number {
  return Math.max(...moments.map((each) => (each === null ? 0 : typeof each === "number" ? each : Date.parse(each))));
}

/** When something was last heard, heartbeats and all else told apart. */
export function lastHeard(sandbox: Sandbox, signs: Signs): { event: number | null; heartbeat: number | null } {
  const beat = newest(signs.beatAt, sandbox.last_heartbeat_at);
  return { event: signs.lastEventAt, heartbeat: beat === 0 ? null : beat };
}

