import { describe, expect, it } from "vitest";
import type { Task, Ticket } from "@/api/client";
import { COLUMNS, costOf, matches, withTicket, withTask, type Pages } from "./columns";

const ticket = (id: string, more: Partial<Ticket> = {}) =>
  ({ id, title: `Ticket ${id}`, project_id: "p", priority: "MEDIUM", ticket_type: "feature", tasks: [], ...more }) as Ticket;

const task = (id: string) =>
  ({ id, status: "pending", attempt: 1, error: null, sandbox_id: null, cost_usd: 0.25, simulated_cost_usd: 0.25 }) as Task;

const column = (...pages: string[][]): Pages => ({
  pages: pages.map((ids, index) => ({
    items: ids.map((id) => ticket(id)),
    next_cursor: index < pages.length - 1 ? "more" : null,
  })),
  pageParams: [],
});

const ids = (pages: Pages) => pages.pages.map((page) => page.items.map((each) => each.id));

describe("a changed ticket", () => {
  it("leaves the column that it no longer belongs to", () => {
    expect(ids(withTicket(column(["c", "b", "a"]), ticket("b"), false))).toEqual([["c", "a"]]);
  });

  it("is inserted in order, newest first", () => {
    expect(ids(withTicket(column(["c", "a"]), ticket("b"), true))).toEqual([["c", "b", "a"]]);
    expect(ids(withTicket(column(["f", "e"], ["c", "a"]), ticket("b"), true))).toEqual([["f", "e"], ["c", "b", "a"]]);
    expect(ids(withTicket(column([]), ticket("b"), true))).toEqual([["b"]]);
    expect(ids(withTicket(column(["c", "b"]), ticket("a"), true))).toEqual([["c", "b", "a"]]);
  });

  it("is updated in place", () => {
    const after = withTicket(column(["c", "b"]), ticket("b", { title: "New words" }), true);
    expect(ids(after)).toEqual([["c", "b"]]);
    expect(after.pages[0]?.items[1]?.title).toBe("New words");
  });

  it("does not affect other columns", () => {
    const before = column(["c", "a"]);
    expect(withTicket(before, ticket("b"), false)).toBe(before);
  });

  it("is not inserted beyond the loaded pages", () => {
    const before = column(["f", "e"]);
    before.pages[0]!.next_cursor = "more";
    expect(withTicket(before, ticket("b"), true)).toBe(before);
  });
});

it("has a column for failed tickets", () => {
  expect(COLUMNS.find(({ status }) => status === "failed")?.label).toBe("Failed");
});

describe("a filter", () => {
  it("requires every given field to match", () => {
    const bug = ticket("a", { title: "Repair the Login", ticket_type: "bug", priority: "HIGH" });
    expect(matches(bug, {})).toBe(true);
    expect(matches(bug, { project: "p", type: "bug", priority: "HIGH", q: "the login" })).toBe(true);
    expect(matches(bug, { project: "q" })).toBe(false);
    expect(matches(bug, { type: "docs" })).toBe(false);
    expect(matches(bug, { priority: "LOW" })).toBe(false);
    expect(matches(bug, { q: "logout" })).toBe(false);
  });
});

it("changes only the given task", () => {
  const before = ticket("a", { tasks: [task("1"), task("2")] });
  const change = { task_id: "2", ticket_id: "a", status: "running" as const, outcome: "in_progress" as const, attempt: 2, error: null, sandbox_id: "s" };
  const after = withTask(before, change);
  expect(after.tasks?.map(({ status, sandbox_id }) => [status, sandbox_id])).toEqual([
    ["pending", null],
    ["running", "s"],
  ]);
  expect(costOf(after)).toEqual({ cost_usd: 0.5, simulated_cost_usd: 0.5 });
});
