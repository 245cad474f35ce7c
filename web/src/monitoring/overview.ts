import { queryOptions } from "@tanstack/react-query";
import { fetchText } from "@/api/client";

export interface Day {
  date: string;
  completed: number;
  failed: number;
  cost_usd: number;
  tokens: number;
}

export interface Provider {
  name: string;
  default: boolean;
  available: boolean;
  reason: string | null;
  alive: number;
}

/** What `GET /monitoring/overview` answers. */
export interface Overview {
  generated_at: string;
  queue: { by_status: Record<string, number>; oldest_pending_seconds: number | null };
  sandboxes: { by_status: Record<string, number>; days: number };
  days: Day[];
  providers: Provider[];
  versions: { omoi: string; postgres: string; agent_sdk: string | null; agent_cli: string | null; model: string };
  processes: { name: string; since: string }[];
}

export const overviewQuery = queryOptions({
  queryKey: ["overview"],
  queryFn: async ({ signal }) => JSON.parse(await fetchText("/api/v1/monitoring/overview", signal)) as Overview,
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
