import { useSyncExternalStore } from "react";
import { currentTheme, type Theme } from "../theme";

function watch(changed: () => void): () => void {
  addEventListener("themechange", changed);
  return () => removeEventListener("themechange", changed);
}

/** The theme that the page has now. */
export function useTheme(): Theme {
  return useSyncExternalStore(watch, currentTheme);
}
