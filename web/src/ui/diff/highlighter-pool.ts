import { getHighlighterIfLoaded, preloadHighlighter } from "@pierre/diffs";
import { WorkerPoolManager } from "@pierre/diffs/worker";

export const THEMES = { light: "github-light-high-contrast", dark: "github-dark-high-contrast" } as const;

/** Lines can be drawn without colours before the programs that find them have started: what they are asked waits for them. */
class Pool extends WorkerPoolManager {
  override isInitialized(): boolean {
    return super.isInitialized() || getHighlighterIfLoaded({ theme: THEMES }) !== undefined;
  }
}

/** One for the tab's life, started with this module and not when the first diff is drawn. */
export const pool = new Pool(
  {
    workerFactory: () => new Worker(new URL("./diff-worker.ts", import.meta.url), { type: "module" }),
    poolSize: 2,
  },
  { theme: THEMES },
);

/** When lines can be drawn. Where this fails the pool tries once more and tells. */
export const ready: Promise<void> = preloadHighlighter({ themes: Object.values(THEMES), langs: [] }).catch(() => undefined);
