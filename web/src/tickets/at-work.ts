import { queryOptions, useQuery } from "@tanstack/react-query";
import { answer, api, type Sandbox } from "@/api/client";

const EVERY_MS = 20_000;
/** Enough for a busy day; beyond it the sum says so. */
const MOST_PAGES = 5;

/** The sandboxes that are alive, by id. Starts and ends are told; how an agent does in between is looked at. */
export const aliveQuery = queryOptions({
  queryKey: ["sandboxes", "alive"],
  queryFn: async ({ signal }): Promise<Sandbox[]> => {
    const states = ["creating", "running"] as const;
    const pages = await Promise.all(
      states.map((status) => answer(api.GET("/api/v1/sandboxes", { params: { query: { status, limit: 200 } }, signal }))),
    );
    return pages.flatMap((page) => page.items);
  },
  refetchInterval: ({ state }) => ((state.data?.length ?? 0) > 0 ? EVERY_MS : false),
});

export function useAlive(): ReadonlyMap<string, Sandbox> {
  const alive = useQuery({ ...aliveQuery, select: byId });
  return alive.data ?? NONE;
}

const NONE: ReadonlyMap<string, Sandbox> = new Map();

function byId(sandboxes: Sandbox[]): ReadonlyMap<string, Sandbox> {
  return new Map(sandboxes.map((sandbox) => [sandbox.id, sandbox]));
}

export interface Spending {
  usd: number;
  /** False when there were too many sandboxes to add up. */
  isAll: boolean;
}

/** What the sandboxes that were begun today have cost. */
export const spentTodayQuery = queryOptions({
  queryKey: ["spent-today"],
  queryFn: async ({ signal }): Promise<Spending> => {
    const midnight = new Date().setHours(0, 0, 0, 0);
    let usd = 0;
    let cursor: string | null | undefined;
    for (let page = 0; page < MOST_PAGES; page++) {
      const query = { limit: 200, cursor };
      const found = await answer(api.GET("/api/v1/sandboxes", { params: { query }, signal }));
      const today = found.items.filter((sandbox) => Date.parse(sandbox.created_at) >= midnight);
      usd += today.reduce((sum, sandbox) => sum + sandbox.cost_usd, 0);
      cursor = found.next_cursor;
      if (!cursor || today.length < found.items.length) return { usd, isAll: true };
    }
    return { usd, isAll: false };
  },
  refetchInterval: EVERY_MS,
});
