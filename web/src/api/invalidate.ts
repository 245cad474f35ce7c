import type { Query, QueryClient, QueryKey } from "@tanstack/react-query";

/** Those that something has made old while they were being loaded. */
const overtaken = new WeakSet<Query>();

/** What lies under a key has become old: load it again where it is shown, and when it is shown. */
export function invalidate(queries: QueryClient, queryKey: QueryKey): void {
  refetchWhenSettled(queries, queryKey);
  void queries.invalidateQueries({ queryKey, predicate: ({ state }) => state.fetchStatus === "idle" });
}

/**
 * What is being loaded under a key may have been read before a change. It is not dropped, as there may be no end of
 * changes, but followed by another look.
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
