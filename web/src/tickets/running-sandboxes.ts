import { queryOptions, useQuery } from "@tanstack/react-query";
import { unwrap, api, type Sandbox } from "@/api/client";

const EVERY_MS = 20_000;

/** Running sandboxes by id. Starts and ends are streamed; activity in between is polled. */
export const runningSandboxesQuery = queryOptions({
  queryKey: ["sandboxes", "alive"],
  queryFn: async ({ signal }): Promise<Sandbox[]> => {
    const states = ["creating", "running"] as const;
    const pages = await Promise.all(
      states.map((status) => unwrap(api.GET("/api/v1/sandboxes", { params: { query: { status, limit: 200 } }, signal }))),
    );
    return pages.flatMap((page) => page.items);
  },
  refetchInterval: ({ state }) => ((state.data?.length ?? 0) > 0 ? EVERY_MS : false),
});

export function useRunningSandboxes(): ReadonlyMap<string, Sandbox> {
  const alive = useQuery({ ...runningSandboxesQuery, select: byId });
  return alive.data ?? NONE;
}

const NONE: ReadonlyMap<string, Sandbox> = new Map();

function byId(sandboxes: Sandbox[]): ReadonlyMap<string, Sandbox> {
  return new Map(sandboxes.map((sandbox) => [sandbox.id, sandbox]));
}
