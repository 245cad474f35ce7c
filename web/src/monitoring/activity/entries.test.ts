import { describe, expect, it } from "vitest";
import type { Item } from "@/stream/subscriptions";
import { event } from "@/sandboxes/sample-events";
import { MOST, distinct, kindsIn, merge, ofEvent, ofItem, type Entry } from "./entries";

const entry = (second: number): Entry => ({ key: `k${second}`, at: new Date(second * 1000).toISOString() }) as Entry;

describe("the activity feed", () => {
  it("leaves out minor events", () => {
    const kinds = ["agent.heartbeat", "agent.assistant_message", "agent.user_tool_result", "agent.tool_completed"].map((type) =>
      ofEvent(event(1, type), "p", "s"),
    );
    expect(kinds).toEqual([null, null, null, null]);
  });

  it("reports a failed tool with its message", () => {
    expect(ofEvent(event(1, "agent.tool_completed", { tool: "Bash", is_error: true }), "p", "s")).toMatchObject({ kind: "errors", what: "Bash failed" });
  });

  it("reports the outcome of a task", () => {
    const item = { id: "9", type: "task.status", timestamp: "t", project_id: "p", sandbox_id: null, data: { status: "cancelled", outcome: "unchecked", ticket_id: "x" } };
    expect(ofItem(item as unknown as Item)).toMatchObject({ kind: "status", what: "Task cancelled: unchecked", tone: "neutral", ticketId: "x" });
    expect(ofItem({ ...item, data: { status: "failed", outcome: "failed" } } as unknown as Item)).toMatchObject({ what: "Task failed", tone: "bad" });
    expect(ofEvent(event(1, "task.verified", { verdict: "failed" }), "p", "s")).toMatchObject({ kind: "errors", what: "Result: failed", tone: "bad" });
  });

  it("leaves out statuses that events report", () => {
    const item = { id: "9", timestamp: "t", project_id: "p", sandbox_id: "s", data: { status: "running", outcome: "in_progress" } };
    const types = ["sandbox.status", "task.status", "ticket.status"];
    expect(types.map((type) => ofItem({ ...item, type } as unknown as Item))).toEqual([null, null, null]);
    const done = { ...item, type: "ticket.status", data: { status: "done", outcome: "verified" } };
    expect(ofItem(done as unknown as Item)).toMatchObject({ what: "Ticket done: verified", tone: "good" });
  });

  it("lists an error once, however many events report it", () => {
    const error = "No script covers this task; set ANTHROPIC_API_KEY.";
    const entries = [
      event(1, "agent.message", { text: `API Error: 400 ${error}` }),
      event(2, "agent.error", { error }),
      event(3, "agent.failed", { error }),
      event(4, "sandbox.terminated", { reason: error }),
    ].map((each) => ofEvent(each, "p", "s")!);
    expect(distinct(entries).map(({ what, text }) => [what, text])).toEqual([["Agent failed", error], ["Sandbox ended", ""]]);
  });

  it("lists a final reply once, and an edit without its call", () => {
    const text = "The numbers are in x.txt, and its test passes.";
    const id = { tool: "Write", tool_use_id: "t1" };
    const entries = [
      event(1, "agent.tool_use", { ...id, input: { file_path: "x.txt" } }),
      event(2, "agent.file_edited", { ...id, file_path: "x.txt" }),
      event(3, "agent.tool_use", { tool: "Bash", tool_use_id: "t2", input: { command: "ls" } }),
      event(4, "agent.message", { text }),
      event(5, "agent.completed", { final_output: text }),
    ].map((each) => ofEvent(each, "p", "s")!);
    expect(distinct(entries).map(({ what, text: shown }) => [what, shown])).toEqual([
      ["File changed", ""],
      ["Bash", "ls"],
      ["Agent", text],
      ["Agent completed", ""],
    ]);
  });

  it("lists each entry once, ordered by time", () => {
    const merged = merge([entry(5), entry(6)], [entry(2), entry(5), entry(7)]);
    expect(merged.map((each) => each.key)).toEqual(["k2", "k5", "k6", "k7"]);
  });

  it("returns the same array when nothing is new", () => {
    const entries = [entry(1)];
    expect(merge(entries, [entry(1)])).toBe(entries);
  });

  it("stays within its limit", () => {
    const many = Array.from({ length: 4_000 }, (_, second) => entry(second));
    const kept = merge([], many);
    expect([kept.length, kept.at(-1)?.key]).toEqual([MOST, "k3999"]);
  });

  it("shows all kinds if none of the requested ones is known", () => {
    expect(kindsIn("nonsense").size).toBe(6);
    expect([...kindsIn("errors,edits")]).toEqual(["edits", "errors"]);
  });
});
