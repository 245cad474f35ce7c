import { describe, expect, it } from "vitest";
import { absolute, ago, clock, short } from "./format";
import { readTimes, writeTimes } from "./time-preference";

const AT = "2026-03-29T23:05:09Z";
const NOW = Date.parse("2026-11-16T17:00:00Z");

// The order of day, month and year depends on the locale.
describe("times", () => {
  it("are in UTC if chosen, and marked as such", () => {
    expect(short(AT, { isUtc: true, now: NOW })).toMatch(/29.* 23.05.09 UTC$/);
    expect(absolute(AT, true)).toMatch(/^(?=.*2026)(?=.*29).* 23.05.09 UTC$/);
    expect(clock(AT, true)).toMatch(/^23.05.09$/);
  });

  it("are local otherwise", () => {
    const here = new Date(2026, 2, 29, 0, 5, 9).getTime();
    expect(short(here, { isUtc: false, now: NOW })).toMatch(/29.* 00.05.09$/);
    expect(absolute(here, false)).toMatch(/^(?=.*2026)(?=.*29).* 00.05.09$/);
    expect(clock(here, false)).toMatch(/^00.05.09$/);
  });

  it("include the year only if it is not the current one", () => {
    expect(short("2025-12-31T23:59:59Z", { isUtc: true, now: NOW })).toMatch(/2025.* 23.59.59 UTC$/);
    expect(short(AT, { isUtc: true, now: NOW })).not.toContain("2026");
  });

  it("can be relative", () => {
    expect(ago(NOW - 2_000, NOW)).toBe("just now");
    expect(ago(NOW - 200_000, NOW)).toBe("3m ago");
  });
});

describe("the time preference", () => {
  it("is read back as it was written; the default is relative and local", () => {
    for (const isExact of [true, false]) {
      for (const isUtc of [true, false]) expect(readTimes(writeTimes({ isExact, isUtc }))).toEqual({ isExact, isUtc });
    }
    for (const text of [null, "", "nonsense"]) expect(readTimes(text)).toEqual({ isExact: false, isUtc: false });
  });
});
