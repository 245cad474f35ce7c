import { useSyncExternalStore } from "react";

/** Dialogs that every page can open. */
export type Overlay = "palette" | "keys" | "new-ticket";

let open: Overlay | null = null;
const watchers = new Set<() => void>();

/** Open a dialog, or close the open one. */
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
