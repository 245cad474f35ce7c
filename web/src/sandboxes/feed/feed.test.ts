import { describe, expect, it } from "vitest";
import type { SandboxEvent } from "@/api/client";
import { Feed } from "./feed";

function events(from: number, to: number): SandboxEvent[] {
  return Array.from({ length: to - from + 1 }, (_, index) => ({ seq: from + index }) as SandboxEvent);
}

const numbers = (feed: Feed) => feed.events.map((event) => event.seq);

describe("a feed", () => {
  it("contains an event once, however often it is received", () => {
    const feed = new Feed();
    feed.append(events(1, 3));
    feed.append(events(2, 5));
    expect(numbers(feed)).toEqual([1, 2, 3, 4, 5]);
  });

  it("rejects events after a gap", () => {
    const feed = new Feed();
    feed.append(events(1, 2));
    expect(feed.append(events(4, 5))).toBe(false);
    expect(numbers(feed)).toEqual([1, 2]);
  });

  it("grows at the front without changing existing events", () => {
    const feed = new Feed();
    feed.append(events(6, 8));
    feed.prepend(events(3, 6));
    expect(numbers(feed)).toEqual([3, 4, 5, 6, 7, 8]);
    expect(feed.at(5)?.seq).toBe(5);
  });

  it("notifies watchers of changes only", () => {
    const feed = new Feed();
    let changes = 0;
    feed.watch(() => (changes += 1));
    feed.append(events(1, 1));
    feed.append(events(1, 1));
    expect(changes).toBe(1);
  });
});

describe("a feed that starts in the middle", () => {
  it("keeps the newest events separate until the gap is closed", () => {
    const feed = new Feed();
    feed.begin(events(40, 60), events(90, 95));
    expect([feed.first, feed.last, feed.newest, feed.end.first]).toEqual([40, 60, 95, 90]);
    expect(feed.append(events(96, 97))).toBe(true);
    feed.bridge(events(61, 80));
    expect([feed.last, feed.newest]).toEqual([80, 97]);
    feed.bridge(events(81, 92));
    expect([feed.last, feed.tail.length, feed.end.first]).toEqual([97, 0, 40]);
    expect(numbers(feed)).toEqual(events(40, 97).map((event) => event.seq));
  });

  it("continues from the newest events on request, and ignores events for the gap", () => {
    const feed = new Feed();
    feed.begin(events(40, 60), events(90, 95));
    feed.skipToTail();
    feed.bridge(events(61, 80));
    expect([feed.tail.length, feed.first, feed.last]).toEqual([0, 90, 95]);
    feed.append(events(96, 97));
    feed.prepend(events(70, 89));
    expect(numbers(feed)).toEqual(events(70, 97).map((event) => event.seq));
  });

  it("joins immediately if there is no gap", () => {
    const feed = new Feed();
    feed.begin(events(1, 5), events(4, 9));
    expect([feed.tail.length, feed.last]).toEqual([0, 9]);
  });
});
