import { describe, expect, it } from "vitest";
import { noteServerTime, offsetBy, serverNow } from "./server-clock";

const NOON = "Fri, 02 Jan 2026 12:00:00 GMT";
const noon = Date.parse(NOON);

describe("the server's clock", () => {
  it("ignores differences below the header's resolution", () => {
    expect([offsetBy(NOON, noon), offsetBy(NOON, noon + 1_900), offsetBy(NOON, noon - 1_400)]).toEqual([0, 0, 0]);
  });

  it("corrects a wrong local clock", () => {
    expect(offsetBy(NOON, noon - 3_600_000)).toBe(3_600_500);
    expect(offsetBy(NOON, noon + 600_000)).toBe(-599_500);
  });

  it("ignores responses without a date", () => {
    noteServerTime(new Date(Date.now() + 3_600_000).toUTCString());
    noteServerTime(null);
    noteServerTime("yesterday");
    expect(Math.abs(serverNow() - Date.now() - 3_600_000)).toBeLessThan(2_000);
  });
});
