import { useEffect, useState, useSyncExternalStore } from "react";
import { useConnection } from "@/live/live";
import { Feed } from "./feed";
import { follow } from "./following";

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
  const version = useSyncExternalStore(feed.watch, () => feed.version);
  return { feed, version, error };
}
