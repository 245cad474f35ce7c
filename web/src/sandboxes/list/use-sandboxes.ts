import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { invalidate } from "@/api/invalidate";
import { unwrap, api } from "@/api/client";
import { useLive } from "@/stream/stream-provider";
import { useBatched } from "@/ui/hooks/use-batched";

export interface Filter {
  status?: string;
  project?: string;
  q?: string;
}

const PAGE = 100;
/** Cost and activity change all the time; refresh at most this often. */
const REST_MS = 4_000;

/** Sandboxes, newest first, page by page. */
export function useSandboxes(filter: Filter) {
  return useInfiniteQuery({
    queryKey: ["sandboxes", "list", filter],
    initialPageParam: null as string | null,
    getNextPageParam: (last: { next_cursor?: string | null }) => last.next_cursor ?? null,
    queryFn: ({ signal, pageParam }) => {
      const query = {
        status: filter.status as never,
        project_id: filter.project,
        limit: PAGE,
        cursor: pageParam ?? undefined,
        ...(filter.q === undefined ? {} : { q: filter.q }),
      };
      return unwrap(api.GET("/api/v1/sandboxes", { params: { query }, signal }));
    },
    placeholderData: (before) => before,
  });
}

/** Refresh the list while events arrive, and not otherwise. */
export function useRefreshOnEvents(): void {
  const queries = useQueryClient();
  const onItems = useBatched(() => invalidate(queries, ["sandboxes", "list"]), REST_MS);
  useLive({ types: ["sandbox.event"] }, { onItems });
}
