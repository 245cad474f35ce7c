import type { Sandbox } from "@/api/client";
import type { ConnectionState } from "@/stream/connection";
import { sandboxStyle } from "@/outcome/outcome";
import type { Tone } from "@/ui/badge";
import { sentence } from "@/ui/text/sentence";
import { ago, duration } from "@/ui/time/format";
import type { Signs } from "./signs";

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
  /** Whether work is in progress. */
  isActive: boolean;
  /** The reasons, as sentences. */
  why: string[];
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Without a heartbeat for this long, a sandbox counts as dead unless its provider reports it alive. */
export const SILENT_MS = 75 * SECOND;
/** Without activity for this long, a sandbox is shown as idle. */
export const QUIET_MS = MINUTE;
/** A waiting sandbox is stopped after this long. */
export const IDLE_MS = 10 * MINUTE;
/** A running sandbox without activity is stopped after this long, and its task is retried. */
export const STUCK_MS = 15 * MINUTE;
const STARTING_MS = MINUTE;

/** Return what a sandbox does, derived from what is known rather than from its own status. */
export function liveness(sandbox: Sandbox, signs: Signs, now: number, link: ConnectionState): Liveness {
  const ended = ending(sandbox);
  if (ended !== null) return ended;
  if (link === "lost") {
    const seen = signs.lastEventAt === null ? "" : ` Last event: ${ago(signs.lastEventAt, now)}.`;
    return say("unknown", "Connection lost", "warn", false, [
      `The server is unreachable, so the sandbox's current status is unknown.${seen}`,
    ]);
  }
  if (sandbox.status === "stopping") {
    return say("stopping", "Stopping", "warn", true, [
      `A stop was requested${sandbox.end_reason === null ? "" : `: ${sandbox.end_reason}`}. Its work is being saved.`,
    ]);
  }
  if (sandbox.status === "creating") return starting(sandbox, now);
  if (sandbox.purpose === "verify") {
    return say("running", "Checking", "good", true, ["This sandbox runs the acceptance commands. No agent is running here."]);
  }
  if (signs.lastEventAt === null && signs.beatAt === null) {
    return say("unknown", "Running", "neutral", false, ["Its events are still loading."]);
  }
  return working(sandbox, signs, now);
}

function starting(sandbox: Sandbox, now: number): Liveness {
  const age = now - Date.parse(sandbox.created_at);
  const why = [`The ${sandbox.provider} provider has been creating it for ${duration(age)}.`];
  if (age > STARTING_MS) why.push("This is longer than usual. The log under Details may show why.");
  return say("starting", "Starting", age > STARTING_MS ? "warn" : "info", true, why);
}

function working(sandbox: Sandbox, signs: Signs, now: number): Liveness {
  const beat = newest(signs.beatAt, sandbox.last_heartbeat_at, sandbox.created_at);
  const silence = now - newest(beat, signs.lastEventAt);
  if (silence > SILENT_MS) {
    return say("stalled", `Stalled, no heartbeat for ${duration(silence)}`, "bad", false, [
      `No event or heartbeat for ${duration(silence)}; a heartbeat is expected every 30 s.`,
      "The platform asks the provider and retries the task if the sandbox is gone.",
    ]);
  }
  const rest = now - newest(signs.lastWorkAt, sandbox.last_work_at, sandbox.created_at);
  if (signs.waitingSince !== null) return waiting(signs, now);
  const tool = signs.tool;
  if (rest > STUCK_MS) {
    return say("stalled", `Stalled, no activity for ${duration(rest)}`, "bad", false, [
      `Heartbeats arrive, but there was no activity for ${duration(rest)}.`,
      "After 15 minutes the platform stops the sandbox and retries the task.",
    ]);
  }
  if (tool !== null) {
    return say("running", `Running ${tool.name}`, "good", true, [
      `${tool.name} has been running for ${duration(now - tool.since)}.`,
    ]);
  }
  if (rest > QUIET_MS) {
    return say("idle", `Idle for ${duration(Math.floor(rest / MINUTE) * MINUTE)}`, "warn", false, [
      `It is alive, but no tool is running and the model has not replied for ${duration(rest)}.`,
      "After 15 minutes without activity the platform stops the sandbox and retries the task.",
    ]);
  }
  if (signs.limitedAt !== null) {
    return say("running", "Running, rate limited", "warn", true, ["The model provider limits the request rate. Requests are retried automatically."]);
  }
  return say("running", "Running", "good", true, ["The model is working on its next reply."]);
}

function waiting(signs: Signs, now: number): Liveness {
  const since = now - (signs.waitingSince ?? now);
  const left = signs.lingerMs === null ? null : signs.lingerMs - since;
  return say("waiting", "Waiting", "info", false, [
    `The agent has finished and has waited for a message for ${duration(since)}.`,
    left !== null && left > 0 ? `The sandbox stops in ${duration(left)} if no message arrives.` : "The sandbox stops soon if no message arrives.",
  ]);
}

/** Return the outcome that the server decided, with the reason. */
function ending(sandbox: Sandbox): Liveness | null {
  const { status, outcome } = sandbox;
  if (status !== "stopped" && status !== "failed" && status !== "lost") return null;
  const { label, tone } = sandboxStyle(sandbox);
  const reason = sandbox.end_reason === null ? [] : [sentence(`Reason: ${sandbox.end_reason}`)];
  const state = outcome === "failed" ? "failed" : outcome !== "no_result" ? "finished" : status === "lost" ? "lost" : "stopped";
  return say(state, label, tone, false, [meaning(sandbox), ...reason]);
}

function meaning({ status, outcome, purpose }: Sandbox): string {
  switch (outcome) {
    case "verified":
      return "The checks passed in a fresh sandbox at the pushed commit.";
    case "unchecked":
      return "There is a result, but no check has verified it.";
    case "failed":
      return status === "failed" ? "The sandbox could not start, or its agent failed." : "The result did not pass its checks.";
    case "no_result":
      return purpose === "verify" ? "The sandbox ended before the result was checked." : "The sandbox ended before there was a result.";
    default:
      return "The agent has finished, and its result is being checked.";
  }
}

function say(state: LivenessState, label: string, tone: Tone, isActive: boolean, why: string[]): Liveness {
  return { state, label, tone, isActive, why };
}

function newest(...moments: (number | string | null)[]): number {
  return Math.max(...moments.map((each) => (each === null ? 0 : typeof each === "number" ? each : Date.parse(each))));
}

/** Return the times of the last event and of the last heartbeat. */
export function lastSeen(sandbox: Sandbox, signs: Signs): { event: number | null; heartbeat: number | null } {
  const beat = newest(signs.beatAt, sandbox.last_heartbeat_at);
  return { event: signs.lastEventAt, heartbeat: beat === 0 ? null : beat };
}

