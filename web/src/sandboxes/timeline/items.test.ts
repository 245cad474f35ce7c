import { describe, expect, it } from "vitest";
import type { SandboxEvent } from "@/api/client";
import { Timeline } from "./grouping";
import { ALL_KINDS, KIND } from "./kinds";
import { dice, event, randomRun } from "../sample-events";
import { type Filter, VisibleItems } from "./items";

const ALL: Filter = { mask: ALL_KINDS, query: "" };
const shape = (shown: VisibleItems) =>
  shown.items.map((item) => ({ isRun: item.isRun, start: item.start, rows: item.rows.map((row) => row.events[0]!.seq) }));

function show(events: readonly SandboxEvent[], filter = ALL): VisibleItems {
  const [timeline, shown] = [new Timeline(), new VisibleItems()];
  timeline.append(events);
  shown.sync(timeline, filter);
  return shown;
}

function reads(count: number, from = 1): SandboxEvent[] {
  return Array.from({ length: count }, (_, index) => {
    const id = { tool: "Read", tool_use_id: `r${from + index}` };
    return [event(from + 2 * index, "agent.tool_use", id), event(from + 2 * index + 1, "agent.tool_completed", id)];
  }).flat();
}

describe("visible items", () => {
  it("groups three or more consecutive minor calls", () => {
    expect(show(reads(5)).items.map((item) => item.rows.length)).toEqual([5]);
    expect(show(reads(2)).items.map((item) => item.isRun)).toEqual([false, false]);
  });

  it("does not group failed or running calls", () => {
    const id = { tool: "Bash", tool_use_id: "x" };
    const failed = event(8, "agent.tool_completed", { ...id, is_error: true, output: "Exit code 1" });
    const shown = show([...reads(3), event(7, "agent.tool_use", id), failed, event(9, "agent.tool_use", { ...id, tool_use_id: "y" })]);
    expect(shown.items.map((item) => item.isRun)).toEqual([true, false, false]);
  });

  it("does not depend on how rows are split into batches, with and without a filter", () => {
    for (let seed = 1; seed <= 150; seed += 1) {
      const roll = dice(seed);
      const events = randomRun(300, seed * 31);
      const filter = [ALL, { mask: KIND.error | KIND.text, query: "" }, { mask: ALL_KINDS, query: "echo 1" }][seed % 3]!;
      const [timeline, shown] = [new Timeline(), new VisibleItems()];
      let [first, last] = [150, 150];
      while (first > 0 || last < events.length) {
        const size = 1 + roll(20);
        if (roll(3) === 0 && last > first) {
          timeline.prepend(events.slice(Math.max(0, first - size), first));
          first = Math.max(0, first - size);
        } else {
          timeline.append(events.slice(last, last + size));
          last = Math.min(events.length, last + size);
        }
        shown.sync(timeline, filter);
      }
      expect(shape(shown)).toEqual(shape(show(events, filter)));
    }
  });

  it("filters by kind and by text", () => {
    const events = [event(1, "agent.message", { text: "Hello there" }), event(2, "agent.error", { error: "no [1]" })];
    expect(show(events, { mask: KIND.error, query: "" }).items.length).toBe(1);
    expect(show(events, { mask: ALL_KINDS, query: "hello" }).items.length).toBe(1);
    expect(show(events, { mask: ALL_KINDS, query: "[1]" }).items.length).toBe(1);
    expect(show(events, { mask: KIND.text, query: "[1]" }).items.length).toBe(0);
  });

  it("finds the same in a search that takes several frames", () => {
    const events = randomRun(3000, 5);
    const filter = { mask: ALL_KINDS, query: "echo 2" };
    const [timeline, shown] = [new Timeline(), new VisibleItems()];
    timeline.append(events);
    let turns = 0;
    do {
      shown.sync(timeline, filter, 0);
      turns += 1;
    } while (!shown.isComplete);
    expect(turns).toBeGreaterThan(5);
    expect(shape(shown)).toEqual(shape(show(events, filter)));
  });

  it("counts the items up to an event", () => {
    const shown = show([event(1, "agent.message"), event(2, "agent.message"), event(3, "agent.message")]);
    expect([shown.countUpTo(0), shown.countUpTo(2), shown.countUpTo(99)]).toEqual([0, 2, 3]);
  });

  it("processes only changed rows, even in a long history", () => {
    const [timeline, shown] = [new Timeline(), new VisibleItems()];
    timeline.append(randomRun(50_000, 3));
    shown.sync(timeline, ALL);
    const early = shown.items.slice(0, 1000);
    timeline.append([event(50_001, "agent.message")]);
    shown.sync(timeline, ALL);
    expect(shown.items.slice(0, 1000).every((item, index) => item === early[index])).toBe(true);
  });
});
