import type { Feed } from "../feed/feed";

export function ReplayBar(_props: {
  feed: Feed;
  version: number;
  upTo: number | null;
  onChange: (upTo: number | null) => void;
  isLive: boolean;
}) {
  return null;
}
