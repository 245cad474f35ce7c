import { useSyncExternalStore } from "react";
import { currentTheme, type Theme } from "../theme";

function watch(changed: () => void): () => void {
  addEventListener("themechange", changed);
  return () => removeEventListener("themechange", changed);
}

/** Return the current theme. */
export function useTheme(): Theme {
  return useSyncExternalStore(watch, currentTheme);
}
