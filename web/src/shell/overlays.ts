import { useSyncExternalStore } from "react";

/** Windows that can be opened from every page. */
export type Overlay = "palette" | "keys" | "new-ticket";

let open: Overlay | null = null;
const watchers = new Set<() => void>();

/** Open one of them, or close what is open. */
export function show(overlay: Overlay | null): void {
  open = overlay;
  for (const watcher of watchers) watcher();
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

export function useOverlay(): Overlay | null {
  return useSyncExternalStore(watch, () => open);
}
