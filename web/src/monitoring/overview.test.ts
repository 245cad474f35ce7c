import { describe, expect, it } from "vitest";
import { dayLabel, totals } from "./overview";

describe("the last days", () => {
  it("are summed up", () => {
    const day = { date: "2026-11-16", completed: 2, failed: 1, cost_usd: 0.5, tokens: 10 };
    expect(totals([day, day])).toEqual({ completed: 4, failed: 2, cost: 1, tokens: 20 });
    expect(totals([])).toEqual({ completed: 0, failed: 0, cost: 0, tokens: 0 });
  });

  it("are called by their own date, wherever one is", () => {
    expect(dayLabel("2026-11-16")).toBe("16 Nov");
  });
});
