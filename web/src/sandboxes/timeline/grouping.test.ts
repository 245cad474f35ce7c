import { describe, expect, it } from "vitest";
import type { SandboxEvent } from "@/api/client";
import { Timeline } from "./grouping";
import { dice, event, randomRun } from "../sample-events";

const shape = (timeline: Timeline) =>
  timeline.rows.map((row) => ({ kind: row.kind, callId: row.callId, mask: row.mask, seqs: row.events.map((each) => each.seq) }));

function grouped(events: readonly SandboxEvent[]): Timeline {
  const timeline = new Timeline();
  timeline.append(events);
  return timeline;
}

/** Feed events as a page receives them: some from the middle, then older pages and newer batches in any order. */
function arrive(events: readonly SandboxEvent[], seed: number): Timeline {
  const roll = dice(seed);
  const timeline = new Timeline();
  let first = roll(events.length);
  let last = first;
  while (first > 0 || last < events.length) {
    const size = 1 + roll(12);
    if (roll(2) === 0 && first > 0 && last > first) {
      timeline.prepend(events.slice(Math.max(0, first - size), first));
      first = Math.max(0, first - size);
    } else if (last < events.length) {
      timeline.append(events.slice(last, last + size));
      last = Math.min(events.length, last + size);
    }
  }
  return timeline;
}

describe("grouping", () => {
  it("starts again when the feed restarts later", () => {
    const events = randomRun(60, 7);
    const timeline = new Timeline();
    timeline.sync({ events: events.slice(0, 20), first: 1, last: 20 });
    timeline.sync({ events: events.slice(40), first: 41, last: 60 });
    expect(shape(timeline)).toEqual(shape(grouped(events.slice(40))));
    timeline.sync({ events, first: 1, last: 60 });
    expect(shape(timeline)).toEqual(shape(grouped(events)));
  });

  it("groups a call, its result and its edits in one row", () => {
    const id = { tool_use_id: "a", tool: "Edit" };
    const timeline = grouped([
      event(1, "agent.tool_use", id),
      event(2, "agent.message", { text: "meanwhile" }),
      event(3, "agent.tool_completed", id),
      event(4, "agent.user_tool_result", id),
      event(5, "agent.file_edited", id),
    ]);
    expect(timeline.rows.map((row) => row.events.map((each) => each.seq))).toEqual([[1, 3, 4, 5], [2]]);
  });

  it("groups heartbeats in one row even if a call ended between them", () => {
    const id = { tool_use_id: "a", tool: "Bash" };
    const timeline = grouped([
      event(1, "agent.tool_use", id),
      event(2, "agent.heartbeat"),
      event(3, "agent.tool_completed", id),
      event(4, "agent.heartbeat"),
    ]);
    expect(timeline.rows.map((row) => row.kind)).toEqual(["call", "heartbeats"]);
  });

  it("does not depend on how events are split into batches", () => {
    for (let seed = 1; seed <= 150; seed += 1) {
      const events = randomRun(120, seed);
      const [whole, parts] = [grouped(events), arrive(events, seed)];
      expect(shape(parts)).toEqual(shape(whole));
      expect([parts.counts, parts.failures]).toEqual([whole.counts, whole.failures]);
    }
  });

  it("reports the first changed row", () => {
    const id = { tool_use_id: "a", tool: "Bash" };
    const timeline = grouped([event(1, "agent.message"), event(2, "agent.tool_use", id), event(3, "agent.message")]);
    expect(timeline.takeChanges()).toBe(0);
    expect(timeline.takeChanges()).toBe(3);
    timeline.append([event(4, "agent.tool_completed", id)]);
    expect(timeline.takeChanges()).toBe(1);
  });

  it("finds the row of an event that joined an earlier row", () => {
    const id = { tool_use_id: "a", tool: "Bash" };
    const timeline = grouped([event(1, "agent.tool_use", id), event(2, "agent.message"), event(3, "agent.tool_completed", id)]);
    expect([timeline.indexOf(3), timeline.indexOf(2), timeline.indexOf(9)]).toEqual([0, 1, -1]);
  });

  it("adds new events of a feed once", () => {
    const events = randomRun(60, 7);
    const timeline = new Timeline();
    for (const [first, last] of [[20, 30], [10, 30], [10, 45], [0, 60], [0, 60]] as const) {
      const part = events.slice(first, last);
      timeline.sync({ events: part, first: part[0]!.seq, last: part.at(-1)!.seq });
    }
    expect(shape(timeline)).toEqual(shape(grouped(events)));
  });
});
