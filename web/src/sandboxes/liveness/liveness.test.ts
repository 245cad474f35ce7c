import { describe, expect, it } from "vitest";
import type { Sandbox, SandboxEvent } from "@/api/client";
import { liveness } from "./liveness";
import { SignReader } from "./signs";
import { event } from "../sample-events";

const START = Date.UTC(2026, 0, 1);
const at = (seconds: number) => START + seconds * 1000;

function sandbox(fields: Partial<Sandbox> = {}): Sandbox {
  return {
    status: "running",
    purpose: "work",
    event_counts: {},
    provider: "local",
    created_at: new Date(START).toISOString(),
    last_heartbeat_at: null,
    last_work_at: null,
    end_reason: null,
    ...fields,
  } as Sandbox;
}

function signs(...events: SandboxEvent[]) {
  const reader = new SignReader();
  for (const each of events) reader.read(each);
  return reader.signs;
}

const use = event(1, "agent.tool_use", { tool: "Bash", tool_use_id: "a" });
const done = event(2, "agent.tool_completed", { tool: "Bash", tool_use_id: "a" });

const beats = (seconds: number) => event(seconds, "agent.heartbeat", { current_tool: null, busy: false });

const checks = (fields: Partial<Sandbox>) =>
  liveness(sandbox({ purpose: "verify", ...fields }), signs(event(1, "sandbox.created", {}, "system")), at(999), "open");

const ended = (outcome: Sandbox["outcome"], more: Partial<Sandbox> = {}) =>
  liveness(sandbox({ status: "stopped", end_reason: "its work is done", outcome, ...more }), signs(use), at(99), "open");

describe("liveness", () => {
  it("reports the running tool and its duration", () => {
    const said = liveness(sandbox(), signs(use), at(31), "open");
    expect(said).toMatchObject({ state: "running", label: "Running Bash", why: ["Bash has been running for 30s."] });
    expect(liveness(sandbox(), signs(use, done), at(31), "open").label).toBe("Running");
  });

  it("reads the tool from a heartbeat if its call is not loaded", () => {
    const beat = event(10, "agent.heartbeat", { current_tool: "Task", current_tool_since: new Date(at(2)).toISOString(), busy: true });
    expect(liveness(sandbox(), signs(beat, event(11, "agent.thinking")), at(12), "open").state).toBe("running");
    expect(signs(beat).tool).toEqual({ name: "Task", since: at(2) });
  });

  it("is stalled after exactly 75 s without an event or heartbeat", () => {
    expect(liveness(sandbox(), signs(use), at(1 + 75), "open").state).toBe("running");
    expect(liveness(sandbox(), signs(use), at(1 + 76), "open").state).toBe("stalled");
  });

  it("is idle, then stalled, while only heartbeats arrive", () => {
    expect(liveness(sandbox(), signs(use, done, beats(360)), at(365), "open")).toMatchObject({ state: "idle", label: "Idle for 6m" });
    expect(liveness(sandbox(), signs(use, done, beats(910)), at(915), "open").state).toBe("stalled");
  });

  it("counts a live child process as activity", () => {
    const beat = event(1000, "agent.heartbeat", { current_tool: "Bash", busy: true });
    expect(liveness(sandbox(), signs(use, beat), at(1010), "open").state).toBe("running");
  });

  it("is waiting until the agent works again", () => {
    const waiting = event(3, "agent.waiting", { linger_seconds: 600 });
    expect(liveness(sandbox(), signs(use, done, waiting), at(63), "open")).toMatchObject({
      state: "waiting",
      why: ["The agent has finished and has waited for a message for 1m.", "The sandbox stops in 9m if no message arrives."],
    });
    expect(liveness(sandbox(), signs(waiting, event(4, "agent.message_injected")), at(5), "open").state).toBe("running");
  });

  it("is unknown while the server is unreachable", () => {
    expect(liveness(sandbox(), signs(use), at(31), "lost").state).toBe("unknown");
    expect(liveness(sandbox({ status: "lost", outcome: "no_result" }), signs(use), at(31), "lost").state).toBe("lost");
  });

  it("reports the server's outcome and the reason after the end", () => {
    expect(ended("verified")).toMatchObject({ state: "finished", label: "Verified", tone: "good" });
    expect(ended("unchecked")).toMatchObject({
      state: "finished",
      label: "Unchecked",
      tone: "neutral",
      why: ["There is a result, but no check has verified it.", "Reason: its work is done."],
    });
    expect(ended("failed")).toMatchObject({ state: "failed", label: "Failed", tone: "bad" });
    expect(ended("failed", { status: "failed" }).why[0]).toBe("The sandbox could not start, or its agent failed.");
    expect(ended("no_result")).toMatchObject({ state: "stopped", label: "Ended without a result", tone: "warn" });
    expect(ended("no_result", { status: "lost" })).toMatchObject({ state: "lost", label: "Ended without a result", tone: "warn" });
    expect(ended("in_progress")).toMatchObject({ label: "Checking result", tone: "info" });
  });

  it("is not shown as starting while its events load", () => {
    expect(liveness(sandbox(), signs(), at(9999), "open")).toMatchObject({ state: "unknown", label: "Running" });
  });

  it("describes checks in a verification sandbox", () => {
    expect(checks({})).toMatchObject({ state: "running", label: "Checking" });
    expect(checks({ status: "stopped", outcome: "failed" })).toMatchObject({ label: "Failed", why: ["The result did not pass its checks."] });
    expect(checks({ status: "stopped", outcome: "no_result", end_reason: "stopped by a person" })).toMatchObject({
      state: "stopped",
      why: ["The sandbox ended before the result was checked.", "Reason: stopped by a person."],
    });
  });

  it("is starting until the first event", () => {
    expect(liveness(sandbox({ status: "creating" }), signs(), at(5), "open").state).toBe("starting");
    expect(liveness(sandbox({ status: "creating" }), signs(), at(90), "open").tone).toBe("warn");
  });
});
