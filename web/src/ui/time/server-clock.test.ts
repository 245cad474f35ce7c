import { describe, expect, it } from "vitest";
import { noteServerTime, offsetBy, serverNow } from "./server-clock";

const NOON = "Fri, 02 Jan 2026 12:00:00 GMT";
const noon = Date.parse(NOON);

describe("the server's clock", () => {
  it("is this machine's when the two differ by less than the header can tell", () => {
    expect([offsetBy(NOON, noon), offsetBy(NOON, noon + 1_900), offsetBy(NOON, noon - 1_400)]).toEqual([0, 0, 0]);
  });

  it("is moved by what a wrong clock is off", () => {
    expect(offsetBy(NOON, noon - 3_600_000)).toBe(3_600_500);
    expect(offsetBy(NOON, noon + 600_000)).toBe(-599_500);
  });

  it("is not moved by an answer without a time", () => {
    noteServerTime(new Date(Date.now() + 3_600_000).toUTCString());
    noteServerTime(null);
    noteServerTime("yesterday");
    expect(Math.abs(serverNow() - Date.now() - 3_600_000)).toBeLessThan(2_000);
  });
});
