import { describe, expect, it } from "vitest";
import { ALL_KINDS, countKinds, KIND, maskOf, readKinds, writeKinds } from "./kinds";
import { event } from "../sample-events";

describe("kinds of events", () => {
  it("are read from and written to the address; unknown ones are ignored", () => {
    expect(readKinds("error,tool,nonsense")).toBe(KIND.error | KIND.tool);
    expect(writeKinds(KIND.error | KIND.tool)).toBe("tool,error");
    expect([readKinds(undefined), readKinds("nonsense"), writeKinds(ALL_KINDS)]).toEqual([ALL_KINDS, ALL_KINDS, undefined]);
  });

  it("count a call and its result once", () => {
    const numbers = { "agent.tool_use": 5, "agent.tool_completed": 5, "agent.failed": 1, constructor: 2 };
    const counts = countKinds(Object.entries(numbers));
    expect([counts.tool, counts.milestone, counts.error, counts.other]).toEqual([5, 1, 1, 2]);
  });

  it("include failed results in errors", () => {
    expect(maskOf(event(1, "agent.tool_completed", { is_error: true }))).toBe(KIND.tool | KIND.error);
    expect(maskOf(event(1, "agent.tool_completed", { is_error: false }))).toBe(KIND.tool);
    expect(maskOf(event(1, "task.verified", { verified: false }))).toBe(KIND.milestone | KIND.error);
  });
});
