import { lazyComponent } from "../loading/lazy";
import { LazyBoundary } from "../loading/boundary";

export type DiffLayout = "unified" | "split";

export interface DiffProps {
  /** A unified diff of any size. */
  patch: string;
  /** Identifies the text: the same name means the same text. */
  name: string;
  layout: DiffLayout;
  /** Whether long lines wrap instead of scrolling. */
  wrap?: boolean;
  /** The file to scroll to. */
  path?: string | null;
}

const Code = lazyComponent<DiffProps>("the diff", async () => {
  const module = await import("./diff-code");
  await module.ready;
  return module.default;
});

/** Load the diff viewer before it is needed; failures are reported where a diff is rendered. */
export function preloadDiff(): void {
  void Code.preload();
}

/** A diff of any size. It fills its container and scrolls inside it. */
export function Diff(props: DiffProps) {
  return (
    <LazyBoundary what="the diff">
      <Code {...props} />
    </LazyBoundary>
  );
}
