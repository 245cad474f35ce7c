import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { useConnection } from "@/stream/stream-provider";
import { Feed } from "./feed";
import { follow } from "./follow";
import { throttle } from "./throttle";

export interface FeedState {
  feed: Feed;
  /** Changes with the feed. */
  version: number;
  error: unknown;
}

/** A sandbox's events, kept up to date; those around the `wanted` one come first. Give the component a `key` of the sandbox's id: it follows one for its life. */
export function useFeed(sandboxId: string, wanted?: number): FeedState {
  const connection = useConnection();
  const [feed] = useState(() => new Feed());
  const [error, setError] = useState<unknown>(null);
  // What is wanted counts when it begins; later everything is loaded or on its way.
  const [begun] = useState(wanted);
  useEffect(
    () => follow(feed, connection, { sandboxId, wanted: begun, onError: setError }),
    [feed, sandboxId, connection, begun],
  );
  const [drawn] = useState(() => ({ version: 0 }));
  const watch = useCallback(
    (changed: () => void) => {
      const knock = throttle(() => {
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
