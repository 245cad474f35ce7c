import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { useConnection } from "@/live/live";
import { Feed } from "./feed";
import { follow } from "./following";
import { paced } from "./pace";

export interface FeedState {
  feed: Feed;
  /** Changes with the feed. */
  version: number;
  error: unknown;
}

/** A sandbox's events, kept up to date. Give the component a `key` of the sandbox's id: it follows one for its life. */
export function useFeed(sandboxId: string): FeedState {
  const connection = useConnection();
  const [feed] = useState(() => new Feed());
  const [error, setError] = useState<unknown>(null);
  useEffect(() => follow(feed, sandboxId, connection, setError), [feed, sandboxId, connection]);
  const [drawn] = useState(() => ({ version: 0 }));
  const watch = useCallback(
    (changed: () => void) => {
      const knock = paced(() => {
        drawn.version = feed.version;
        changed();
      });
      const unwatch = feed.watch(knock);
      knock();
      return () => {
        unwatch();
        knock.stop();
      };
    },
    [feed, drawn],
  );
  const version = useSyncExternalStore(watch, () => drawn.version);
  return { feed, version, error };
}
