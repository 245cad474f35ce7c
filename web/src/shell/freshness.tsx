import { useQueryClient, type QueryKey } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useLive } from "@/live/live";
import type { Item } from "@/live/subscriptions";

interface Told {
  task_id?: string;
  ticket_id?: string;
}

/** Changes often come together; what they touch is looked at once. */
const GATHER_MS = 150;

/** Every change of a state makes what was loaded of it old; what is on the screen is then loaded again. */
export function Freshness() {
  const queries = useQueryClient();
  const touched = useRef(new Map<string, QueryKey>());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);

  function gather(keys: QueryKey[]) {
    for (const key of keys) touched.current.set(JSON.stringify(key), key);
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      for (const key of touched.current.values()) void queries.invalidateQueries({ queryKey: key });
      touched.current.clear();
    }, GATHER_MS);
  }

  useLive(
    { types: ["sandbox.status", "task.status", "ticket.status", "message.status"] },
    {
      onItems: (items) => gather(items.flatMap(keysOf)),
      onResync: () => void queries.invalidateQueries(),
    },
  );
  return null;
}

function keysOf(item: Item): QueryKey[] {
  const { task_id, ticket_id } = item.data as Told;
  const keys: QueryKey[] = [];
  if (item.type === "message.status") return [["messages", item.sandbox_id]];
  if (item.type === "sandbox.status") keys.push(["sandboxes"], ["sandbox", item.sandbox_id]);
  if (ticket_id !== undefined) keys.push(["tickets"], ["ticket", ticket_id]);
  if (task_id !== undefined) keys.push(["task", task_id]);
  return keys;
}
