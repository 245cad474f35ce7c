import { describe, expect, it } from "vitest";
import { dayLabel, totals } from "./overview";

describe("the last days", () => {
  it("are added up", () => {
    const outcomes = { verified: 1, unchecked: 1, failed: 1, no_result: 0 };
    const day = { date: "2026-11-16", completed: 2, failed: 1, outcomes, cost_usd: 0.5, simulated_cost_usd: 0.25, cost_simulated: true, tokens: 10 };
    const twice = { verified: 2, unchecked: 2, failed: 2, no_result: 0 };
    expect(totals([day, day])).toEqual({ outcomes: twice, cost_usd: 1, simulated_cost_usd: 0.5, tokens: 20 });
    expect(totals([]).tokens).toBe(0);
  });

  it("are labelled with their UTC date in every time zone", () => {
    expect(dayLabel("2026-11-16")).toBe("16 Nov");
  });
});
