import { describe, expect, it } from "vitest";
import type { Item } from "@/stream/subscriptions";
import { event } from "@/sandboxes/sample-events";
import { MOST, kindsIn, merge, ofEvent, ofItem, type Entry } from "./entries";

const entry = (second: number): Entry => ({ key: `k${second}`, at: new Date(second * 1000).toISOString() }) as Entry;

describe("the feed of everything", () => {
  it("leaves out what would be noise", () => {
    const kinds = ["agent.heartbeat", "agent.assistant_message", "agent.user_tool_result", "agent.tool_completed"].map((type) =>
      ofEvent(event(1, type), "p", "s"),
    );
    expect(kinds).toEqual([null, null, null, null]);
  });

  it("tells a failed tool from one that worked", () => {
    expect(ofEvent(event(1, "agent.tool_completed", { tool: "Bash", is_error: true }), "p", "s")).toMatchObject({ kind: "errors", what: "Bash failed" });
  });

  it("says what became of a task", () => {
    const item = { id: "9", type: "task.status", timestamp: "t", project_id: "p", sandbox_id: null, data: { status: "completed", outcome: "unchecked", ticket_id: "x" } };
    expect(ofItem(item as unknown as Item)).toMatchObject({ kind: "status", what: "Task is completed: unchecked", tone: "neutral", ticketId: "x" });
    expect(ofItem({ ...item, data: { status: "failed", outcome: "failed" } } as unknown as Item)).toMatchObject({ what: "Task is failed", tone: "bad" });
    expect(ofEvent(event(1, "task.verified", { verdict: "failed" }), "p", "s")).toMatchObject({ kind: "errors", what: "Result: failed", tone: "bad" });
  });

  it("has each entry once, in order of time, whichever comes first", () => {
    const merged = merge([entry(5), entry(6)], [entry(2), entry(5), entry(7)]);
    expect(merged.map((each) => each.key)).toEqual(["k2", "k5", "k6", "k7"]);
  });

  it("is the same when there is nothing new", () => {
    const entries = [entry(1)];
    expect(merge(entries, [entry(1)])).toBe(entries);
  });

  it("does not grow beyond its bound", () => {
    const many = Array.from({ length: 4_000 }, (_, second) => entry(second));
    const kept = merge([], many);
    expect([kept.length, kept.at(-1)?.key]).toEqual([MOST, "k3999"]);
  });

  it("shows all kinds when none of those asked for is known", () => {
    expect(kindsIn("nonsense").size).toBe(6);
    expect([...kindsIn("errors,edits")]).toEqual(["edits", "errors"]);
  });
});
