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

/**
 * Use a sandbox's events, kept up to date; those around `wanted` are loaded first. Give the component a `key` of the
 * sandbox id: it follows one for its lifetime.
 */
export function useFeed(sandboxId: string, wanted?: number): FeedState {
  const connection = useConnection();
  const [feed] = useState(() => new Feed());
  const [error, setError] = useState<unknown>(null);
  // Only the initial value counts; afterwards everything is loaded or loading.
  const [initial] = useState(wanted);
  useEffect(
    () => follow(feed, connection, { sandboxId, wanted: initial, onError: setError }),
    [feed, sandboxId, connection, initial],
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
