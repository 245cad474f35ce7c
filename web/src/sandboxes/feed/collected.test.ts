import { describe, expect, it } from "vitest";
import type { SandboxEvent } from "@/api/client";
import { Collected } from "./collected";

class Numbers {
  seen: number[] = [];
  add(event: SandboxEvent) {
    this.seen.push(event.seq);
  }
}

const event = (seq: number) => ({ seq }) as SandboxEvent;

describe("what is collected from a feed", () => {
  it("takes each event once while the feed grows at its end", () => {
    const collected = new Collected(() => new Numbers());
    const events = [event(3)];
    collected.follow(events);
    events.push(event(4));
    collected.follow(events);
    expect(collected.follow(events).seen).toEqual([3, 4]);
  });

  it("begins anew when the feed grows at its front", () => {
    const collected = new Collected(() => new Numbers());
    collected.follow([event(3)]);
    expect(collected.follow([event(1), event(2), event(3)]).seen).toEqual([1, 2, 3]);
  });
});
