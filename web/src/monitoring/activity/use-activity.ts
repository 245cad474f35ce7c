import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { invalidate } from "@/api/invalidate";
import { unwrap, api } from "@/api/client";
import { useLive } from "@/stream/stream-provider";
import { byTime, distinct, merge, ofEvent, ofItem, type Entry } from "./entries";

const SANDBOXES = 8;
const EVENTS = 60;

/** Load the latest events of the newest sandboxes, to fill the feed with a few small requests. */
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

/**
 * Follow the activity of one project, or of all. Give the component a `key` of the project: it follows one for its
 * lifetime.
 */
export function useActivity(project: string | undefined) {
  const queries = useQueryClient();
  const [live, setLive] = useState<readonly Entry[]>([]);
  useLive(
    { types: ["sandbox.event", "task.status", "ticket.status"], project_id: project },
    {
      onItems: (items) => setLive((before) => merge(before, items.flatMap((item) => ofItem(item) ?? []))),
      // Changes may have happened between the backlog and the start of the subscription.
      onBegin: () => invalidate(queries, ["activity", project]),
    },
  );
  // When the stream cannot resume, every query is invalidated, this one included.
  const older = useQuery({
    queryKey: ["activity", project],
    staleTime: Infinity,
    gcTime: 0,
    queryFn: ({ signal }) => backlog(project, signal),
  });
  const entries = useMemo(() => distinct(merge(older.data ?? [], live)), [older.data, live]);
  return { entries, older };
}
