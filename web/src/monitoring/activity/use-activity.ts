import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { invalidate } from "@/api/invalidate";
import { unwrap, api } from "@/api/client";
import { useLive } from "@/stream/stream-provider";
import { byTime, distinct, merge, ofEvent, ofItem, type Entry } from "./entries";

const SANDBOXES = 8;
const EVENTS = 60;

/** What happened lately in the newest sandboxes: a beginning for the feed, at the price of a few small requests. */
async function backlog(project: string | undefined, signal: AbortSignal): Promise<Entry[]> {
  const page = await unwrap(api.GET("/api/v1/sandboxes", { params: { query: { project_id: project, limit: SANDBOXES } }, signal }));
  const parts = await Promise.all(
    page.items.map(async (sandbox) => {
      const path = { sandbox_id: sandbox.id };
      const events = await unwrap(
        api.GET("/api/v1/sandboxes/{sandbox_id}/trajectory", { params: { path, query: { limit: EVENTS, order: "desc" } }, signal }),
      );
      return events.items.flatMap((event) => ofEvent(event, sandbox.project_id, sandbox.id) ?? []);
    }),
  );
  return parts.flat().toSorted(byTime);
}

/** Everything that one may see, as it happens. Give the component a `key` of the project: it follows one for its life. */
export function useActivity(project: string | undefined) {
  const queries = useQueryClient();
  const [live, setLive] = useState<readonly Entry[]>([]);
  useLive(
    { types: ["sandbox.event", "task.status", "ticket.status"], project_id: project },
    {
      onItems: (items) => setLive((before) => merge(before, items.flatMap((item) => ofItem(item) ?? []))),
      // Between what was loaded and what is told from now on there may be something.
      onBegin: () => invalidate(queries, ["activity", project]),
    },
  );
  // When the stream could not tell all, everything that was loaded is loaded again, and this with it.
  const older = useQuery({
    queryKey: ["activity", project],
    staleTime: Infinity,
    gcTime: 0,
    queryFn: ({ signal }) => backlog(project, signal),
  });
  const entries = useMemo(() => distinct(merge(older.data ?? [], live)), [older.data, live]);
  return { entries, older };
}
