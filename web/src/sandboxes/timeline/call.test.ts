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
  it("has a one-line title, a status and a duration", () => {
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

  it("is running at the replay position of its start", () => {
    expect(callOf(row(), 1).state).toBe("running");
  });

  it("accepts input of the wrong type", () => {
    const timeline = new Timeline();
    timeline.append([event(1, "agent.tool_use", { tool: 7, tool_use_id: "a", input: [1, 2] })]);
    expect(callOf(timeline.rows[0]!)).toMatchObject({ tool: "tool", title: "" });
  });
});
