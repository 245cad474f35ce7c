import { describe, expect, it } from "vitest";
import { type Happening, type Scroll, scroll } from "./scroll-state";

const after = (...happenings: Happening[]) => happenings.reduce<Scroll>(scroll, { intent: "open" });

describe("scrolling", () => {
  it("starts at the end and follows it", () => {
    expect(after({ type: "shown", last: 5 }, { type: "scrolled", atEnd: true, last: 9 })).toEqual({ intent: "follow" });
  });

  it("stops following when the reader leaves the end, and remembers the last event seen", () => {
    const left = after({ type: "shown", last: 5 }, { type: "scrolled", atEnd: false, last: 9 }, { type: "scrolled", atEnd: false, last: 40 });
    expect(left).toEqual({ intent: "hold", seen: 9 });
    expect(scroll(left, { type: "scrolled", atEnd: true, last: 50 })).toEqual({ intent: "follow" });
    expect(scroll(left, { type: "latest" })).toEqual({ intent: "follow" });
  });

  it("counts everything as seen after a link was opened", () => {
    expect(scroll({ intent: "jump", seq: 3, seen: 0 }, { type: "arrived", atEnd: false, last: 20 })).toEqual({ intent: "hold", seen: 20 });
  });

  it("ignores scrolling while jumping to an event", () => {
    const asked = after({ type: "asked", seq: 3, last: 9 }, { type: "shown", last: 9 }, { type: "scrolled", atEnd: true, last: 9 });
    expect(asked).toEqual({ intent: "jump", seq: 3, seen: 9 });
    expect(scroll(asked, { type: "arrived", atEnd: false, last: 20 })).toEqual({ intent: "hold", seen: 9 });
    expect(scroll(asked, { type: "arrived", atEnd: true, last: 20 })).toEqual({ intent: "follow" });
  });
});
