import { later } from "../loading/lazy";
import { LazyBoundary } from "../loading/boundary";

export type DiffLayout = "unified" | "split";

export interface DiffProps {
  /** A unified diff of any size. */
  patch: string;
  /** Names the text of the diff: the same name is taken for the same text. */
  name: string;
  layout: DiffLayout;
  /** Whether long lines are wrapped; they scroll otherwise. */
  wrap?: boolean;
  /** The file that is scrolled to. */
  path?: string | null;
}

const Code = later<DiffProps>("the diff", async () => {
  const module = await import("./diff-code");
  await module.ready;
  return module.default;
});

/** Fetch the diff's program before it is needed; a failure is told where a diff is drawn. */
export function preloadDiff(): void {
  void Code.preload();
}

/** A diff of any size. It fills the box that it stands in and scrolls there. */
export function Diff(props: DiffProps) {
  return (
    <LazyBoundary what="the diff">
      <Code {...props} />
    </LazyBoundary>
  );
}
