import { describe, expect, it } from "vitest";
import type { SandboxEvent } from "@/api/client";
import { BREAK_MS, Timeline, columns } from "./timeline";

const START = Date.parse("2026-01-01T00:00:00Z");

function timeline(...events: [seconds: number, type?: string, data?: Record<string, unknown>][]): Timeline {
  const made = new Timeline();
  for (const [index, [seconds, type = "agent.tool_use", event_data = {}]] of events.entries()) {
    const occurred_at = new Date(START + seconds * 1000).toISOString();
    made.add({ seq: index + 1, event_type: type, event_data, occurred_at } as unknown as SandboxEvent);
  }
  return made;
}

describe("the time line", () => {
  it("shortens pauses and reports their length", () => {
    const time = timeline([0], [2], [602], [603]);
    expect(time.length("real")).toBe(603_000);
    expect(time.length("short")).toBe(3_000 + BREAK_MS);
    expect(time.breaks).toEqual([{ short: 2_000 + BREAK_MS / 2, lasted: 600_000 }]);
  });

  it("ignores heartbeats, even within a pause", () => {
    const time = timeline([0], [30, "agent.heartbeat"], [60]);
    expect(time.steps.map((step) => step.seq)).toEqual([1, 3]);
    expect(time.breaks).toHaveLength(1);
  });

  it("does not run backwards when clocks differ", () => {
    const time = timeline([10], [8], [11]);
    expect(time.steps.map((step) => step.real)).toEqual([0, 0, 1_000]);
  });

  it("maps times to events and back", () => {
    const time = timeline([0], [1], [1.5, "agent.heartbeat"], [3]);
    expect(time.indexAt(2_999, "short")).toBe(1);
    expect(time.indexAt(3_000, "short")).toBe(2);
    expect(time.indexAt(-5, "short")).toBe(0);
    expect(time.indexOf(3)).toBe(1);
    expect(time.indexOf(99)).toBe(2);
  });

  it("marks edits, errors, messages and phases", () => {
    const time = timeline(
      [0, "agent.file_edited"],
      [1, "agent.tool_completed", { is_error: true }],
      [2, "agent.tool_completed", { is_error: false }],
      [3, "agent.message"],
      [4, "agent.message", { parent_tool_use_id: "sub" }],
      [5, "iteration.started"],
    );
    expect(time.markers.map((marker) => marker.kind)).toEqual(["edit", "error", "message", "phase"]);
  });

  it("prefers errors over other markers in the same place", () => {
    const time = timeline([0], [2, "agent.file_edited"], [2, "agent.error"], [2, "agent.message"], [4]);
    expect(columns(time, "short", 10)).toEqual([{ column: 5, kind: "error" }]);
  });

  it("has length 0 when empty", () => {
    expect([new Timeline().length("short"), new Timeline().indexAt(10, "real")]).toEqual([0, 0]);
  });
});
