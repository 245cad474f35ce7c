import type { Query, QueryClient, QueryKey } from "@tanstack/react-query";

/** Queries that a change made stale while they were loading. */
const overtaken = new WeakSet<Query>();

/** Mark everything under a key as stale: what is shown is loaded again now, the rest when it is shown. */
export function invalidate(queries: QueryClient, queryKey: QueryKey): void {
  refetchWhenSettled(queries, queryKey);
  void queries.invalidateQueries({ queryKey, predicate: ({ state }) => state.fetchStatus === "idle" });
}

/**
 * Load again whatever is loading under a key, once it has finished. It may have been read before the change. It is not
 * cancelled, because a steady stream of changes would then prevent it from ever finishing.
 */
export function refetchWhenSettled(queries: QueryClient, queryKey: QueryKey): void {
  for (const query of queries.getQueryCache().findAll({ queryKey }))
    if (query.state.fetchStatus !== "idle" && !overtaken.has(query)) follow(queries, query);
}

function follow(queries: QueryClient, query: Query): void {
  const { promise } = query;
  if (promise === undefined) return;
  overtaken.add(query);
  const again = () => {
    overtaken.delete(query);
    void queries.invalidateQueries({ queryKey: query.queryKey, exact: true });
  };
  void promise.then(again, again);
}
