import { getHighlighterIfLoaded, preloadHighlighter } from "@pierre/diffs";
import { WorkerPoolManager } from "@pierre/diffs/worker";

export const THEMES = { light: "github-light-high-contrast", dark: "github-dark-high-contrast" } as const;

/** Lines can be rendered without colours before the highlighters have started; their requests wait. */
class Pool extends WorkerPoolManager {
  override isInitialized(): boolean {
    return super.isInitialized() || getHighlighterIfLoaded({ theme: THEMES }) !== undefined;
  }
}

/** Started with this module, before the first diff is rendered. */
export const pool = new Pool(
  {
    workerFactory: () => new Worker(new URL("./diff-worker.ts", import.meta.url), { type: "module" }),
    poolSize: 2,
  },
  { theme: THEMES },
);

/** Resolves when lines can be rendered. If this fails, the pool retries and reports it. */
export const ready: Promise<void> = preloadHighlighter({ themes: Object.values(THEMES), langs: [] }).catch(() => undefined);
