import { useSyncExternalStore } from "react";

const WIDE = "(min-width: 1100px)";

function watch(changed: () => void): () => void {
  const media = matchMedia(WIDE);
  media.addEventListener("change", changed);
  return () => media.removeEventListener("change", changed);
}

/** Whether two panes fit beside each other. */
export function useWide(): boolean {
  return useSyncExternalStore(watch, () => matchMedia(WIDE).matches);
}
