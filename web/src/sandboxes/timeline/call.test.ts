import { describe, expect, it } from "vitest";
import { callOf } from "./call";
import { Timeline } from "./grouping";
import { event } from "../sample-events";

function row() {
  const timeline = new Timeline();
  const id = { tool: "Bash", tool_use_id: "a" };
  timeline.append([
    event(1, "agent.tool_use", { ...id, input: { command: "make\n  test" } }),
    event(2, "agent.tool_completed", { ...id, is_error: true, output: "Exit code 2\nboom", duration_ms: 5 }),
  ]);
  return timeline.rows[0]!;
}

describe("a call", () => {
  it("says what was asked in one line, how it ended and how long it took", () => {
    expect(callOf(row())).toMatchObject({ tool: "Bash", title: "make test", state: "failed", exitCode: 2, durationMs: 5 });
  });

  it("has a message for a failure, without tags or JSON", () => {
    const timeline = new Timeline();
    const id = { tool: "Edit", tool_use_id: "b" };
    timeline.append([
      event(1, "agent.tool_use", { ...id, input: { a: 1, b: "two" } }),
      event(2, "agent.tool_completed", { ...id, is_error: true, output: "<tool_use_error>File does not exist.</tool_use_error>" }),
    ]);
    expect(callOf(timeline.rows[0]!)).toMatchObject({ title: "a: 1, b: two", error: "File does not exist.", exitCode: null });
  });

  it("was still running at the moment of its start", () => {
    expect(callOf(row(), 1).state).toBe("running");
  });

  it("shows what has the wrong shape as it is", () => {
    const timeline = new Timeline();
    timeline.append([event(1, "agent.tool_use", { tool: 7, tool_use_id: "a", input: [1, 2] })]);
    expect(callOf(timeline.rows[0]!)).toMatchObject({ tool: "tool", title: "" });
  });
});
