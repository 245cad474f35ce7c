import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { components } from "@/api/schema";

export type Overview = components["schemas"]["OverviewOut"];
export type Limits = components["schemas"]["LimitsOut"];
export type Day = components["schemas"]["DayOut"];

export const overviewQuery = queryOptions({
  queryKey: ["overview"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/monitoring/overview", { signal })),
});

/** What the days come to. */
export function totals(days: readonly Day[]): { completed: number; failed: number; cost: number; tokens: number } {
  return days.reduce(
    (sum, day) => ({
      completed: sum.completed + day.completed,
      failed: sum.failed + day.failed,
      cost: sum.cost + day.cost_usd,
      tokens: sum.tokens + day.tokens,
    }),
    { completed: 0, failed: 0, cost: 0, tokens: 0 },
  );
}

/** A day as an axis shows it: 16 Nov. The date is one of UTC, and is not moved into another day. */
export function dayLabel(date: string): string {
  return new Date(`${date}T00:00:00Z`).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}
