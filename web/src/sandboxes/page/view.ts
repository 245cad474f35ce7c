import type { Sandbox } from "@/api/client";
import type { Feed } from "../feed/feed";

/** What each view of a sandbox is given. */
export interface ViewProps {
  sandbox: Sandbox;
  feed: Feed;
  /** Changes with the feed. */
  version: number;
  /** The number of the last event that is shown, while a run is replayed; null when it is live. */
  upTo: number | null;
}
