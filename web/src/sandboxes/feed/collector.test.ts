import { describe, expect, it } from "vitest";
import type { SandboxEvent } from "@/api/client";
import { FeedCollector } from "./collector";

class Numbers {
  seen: number[] = [];
  add(event: SandboxEvent) {
    this.seen.push(event.seq);
  }
}

const event = (seq: number) => ({ seq }) as SandboxEvent;

describe("a collector", () => {
  it("adds each event once while the feed grows at its end", () => {
    const collected = new FeedCollector(() => new Numbers());
    const events = [event(3)];
    collected.follow(events);
    events.push(event(4));
    collected.follow(events);
    expect(collected.follow(events).seen).toEqual([3, 4]);
  });

  it("delays a rebuild until many or all older events are loaded", () => {
    const run = Array.from({ length: 100 }, (_, index) => event(index + 1));
    const collected = new FeedCollector(() => new Numbers());
    collected.follow(run.slice(40, 80));
    expect(collected.follow(run.slice(30, 90)).seen).toEqual(run.slice(40, 90).map(({ seq }) => seq));
    expect(collected.follow(run.slice(10, 90)).seen).toEqual(run.slice(10, 90).map(({ seq }) => seq));
    expect(collected.follow(run, true).seen).toEqual(run.map(({ seq }) => seq));
  });

  it("starts again when the feed restarts later", () => {
    const collected = new FeedCollector(() => new Numbers());
    collected.follow([event(3), event(4)]);
    expect(collected.follow([event(8), event(9)]).seen).toEqual([8, 9]);
  });

  it("rebuilds when the feed grows at its front", () => {
    const collected = new FeedCollector(() => new Numbers());
    collected.follow([event(3)]);
    expect(collected.follow([event(1), event(2), event(3)]).seen).toEqual([1, 2, 3]);
  });
});
