import type { SandboxEvent } from "@/api/client";
import { num, record, str } from "../event-data";

/** The settings that the worker and the agent reported at their start. */
export interface Facts {
  branch: string | null;
  model: string | null;
  mode: string | null;
  maxIterations: number | null;
  permissionMode: string | null;
  workspace: string | null;
  sessionId: string | null;
  resumedSessionId: string | null;
  tools: readonly string[];
  /** The worker's environment variables by name, without secrets. */
  environment: readonly (readonly [name: string, value: string])[];
  commit: string | null;
  turns: number | null;
  stopReason: string | null;
}

const WANTED = new Set(["sandbox.created", "sandbox.started", "agent.started", "iteration.started", "agent.system_message", "agent.completed", "agent.failed"]);

/** Reads settings from events; later values replace earlier ones. */
export class FactReader {
  readonly facts: Facts = {
    branch: null,
    model: null,
    mode: null,
    maxIterations: null,
    permissionMode: null,
    workspace: null,
    sessionId: null,
    resumedSessionId: null,
    tools: [],
    environment: [],
    commit: null,
    turns: null,
    stopReason: null,
  };

  add(event: SandboxEvent): void {
    if (!WANTED.has(event.event_type)) return;
    const { facts } = this;
    facts.branch = str(event, "branch_name") ?? facts.branch;
    facts.model = str(event, "model") ?? facts.model;
    facts.mode = str(event, "mode") ?? facts.mode;
    facts.maxIterations = num(event, "max_iterations") ?? facts.maxIterations;
    facts.permissionMode = str(event, "permissionMode") ?? facts.permissionMode;
    facts.workspace = str(event, "cwd") ?? facts.workspace;
    facts.sessionId = str(event, "session_id") ?? facts.sessionId;
    facts.resumedSessionId = str(event, "resumed_session_id") ?? facts.resumedSessionId;
    facts.commit = str(event, "commit_sha") ?? facts.commit;
    facts.turns = num(event, "turns") ?? facts.turns;
    facts.stopReason = str(event, "stop_reason") ?? facts.stopReason;
    if (event.event_type === "sandbox.started") facts.environment = texts(event.event_data.environment);
    const tools = event.event_data.tools;
    if (Array.isArray(tools)) facts.tools = tools.filter((tool): tool is string => typeof tool === "string");
  }
}

function texts(value: unknown): [name: string, value: string][] {
  return Object.entries(record(value)).flatMap(([name, text]) => (typeof text === "string" ? [[name, text]] : []));
}

/** Return counts by type, most frequent first. */
export function ranked(counts: Readonly<Record<string, number>>): [type: string, count: number][] {
  return Object.entries(counts).toSorted(([one, many], [other, more]) => more - many || one.localeCompare(other));
}
