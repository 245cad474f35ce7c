import type { Sandbox } from "@/api/client";
import type { Feed } from "../feed/feed";

/** The properties of each view. */
export interface ViewProps {
  sandbox: Sandbox;
  feed: Feed;
  /** Changes with the feed. */
  version: number;
  /** The number of the last event to show during a replay; null when live. */
  upTo: number | null;
}
