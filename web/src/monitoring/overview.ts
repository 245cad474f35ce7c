import { queryOptions } from "@tanstack/react-query";
import { unwrap, api } from "@/api/client";
import { FINAL } from "@/outcome/outcome";
import type { components } from "@/api/schema";

export type Overview = components["schemas"]["OverviewOut"];
export type Limits = components["schemas"]["LimitsOut"];
export type Day = components["schemas"]["DayOut"];

export const overviewQuery = queryOptions({
  queryKey: ["overview"],
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/monitoring/overview", { signal })),
});

export interface Totals {
  outcomes: Record<(typeof FINAL)[number], number>;
  cost_usd: number;
  simulated_cost_usd: number;
  tokens: number;
}

/** Return the sums over all days. */
export function totals(days: readonly Day[]): Totals {
  const sum: Totals = { outcomes: { verified: 0, unchecked: 0, failed: 0, no_result: 0 }, cost_usd: 0, simulated_cost_usd: 0, tokens: 0 };
  for (const day of days) {
    for (const outcome of FINAL) sum.outcomes[outcome] += day.outcomes[outcome] ?? 0;
    sum.cost_usd += day.cost_usd;
    sum.simulated_cost_usd += day.simulated_cost_usd;
    sum.tokens += day.tokens;
  }
  return sum;
}

/** Format a day for an axis: 16 Nov. The date is in UTC and is not converted to the local time zone. */
export function dayLabel(date: string): string {
  return new Date(`${date}T00:00:00Z`).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}
