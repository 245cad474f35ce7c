import { CodeView, WorkerPoolContext, type CodeViewHandle } from "@pierre/diffs/react";
import { ChevronDown, ChevronRight } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import type { DiffProps } from "./diff";
import { LOOK } from "./diff-style";
import { pool, THEMES } from "./highlighter-pool";
import { filesOf, type PatchFile } from "./patch";
import { useTheme } from "../hooks/use-theme";

export { ready } from "./highlighter-pool";

/** Files with more lines than this are collapsed at first, unless there is only one. */
const LONG = 2_000;

export default function DiffCode(props: DiffProps) {
  return (
    <WorkerPoolContext value={pool}>
      <Files key={props.name} {...props} />
    </WorkerPoolContext>
  );
}

/** Make horizontally scrolling code reachable by keyboard. */
function reachable(node: HTMLElement): void {
  for (const code of node.shadowRoot?.querySelectorAll("code") ?? []) code.tabIndex = 0;
}

/** Return the files that are collapsed at first: long ones, except a single or a requested file. */
function longOnes(files: readonly PatchFile[], path: string | null): ReadonlySet<string> {
  const long = files.filter(({ item, added, removed }) => files.length > 1 && added + removed > LONG && item.fileDiff.name !== path);
  return new Set(long.map(({ item }) => item.id));
}

function Files({ patch, name, layout, wrap = false, path = null }: DiffProps) {
  const theme = useTheme();
  const view = useRef<CodeViewHandle<undefined, undefined>>(null);
  const files = useMemo(() => filesOf(patch, name), [patch, name]);
  const long = useMemo(() => longOnes(files, path), [files, path]);
  const [turned, setTurned] = useState<ReadonlyMap<string, boolean>>(new Map());
  const isShut = (id: string) => turned.get(id) ?? long.has(id);
  const items = useMemo(
    () =>
      files.map(({ item }) => {
        const collapsed = turned.get(item.id) ?? long.has(item.id);
        return { ...item, collapsed, version: collapsed ? 1 : 0 };
      }),
    [files, long, turned],
  );
  const byId = useMemo(() => new Map(files.map((file) => [file.item.id, file])), [files]);

  useEffect(() => {
    if (path === null) return;
    const file = files.findLast(({ item }) => item.fileDiff.name === path);
    if (file !== undefined) view.current?.scrollTo({ type: "item", id: file.item.id, align: "start", behavior: "instant" });
  }, [files, path]);

  const options = useMemo(
    () => ({
      theme: THEMES,
      themeType: theme,
      diffStyle: layout,
      overflow: wrap ? ("wrap" as const) : ("scroll" as const),
      stickyHeaders: true,
      layout: { paddingTop: 0, paddingBottom: 16, gap: 8 },
      hunkSeparators: "line-info-basic" as const,
      unsafeCSS: LOOK,
      onPostRender: reachable,
    }),
    [theme, layout, wrap],
  );
  if (files.length === 0) return <p className="p-6 text-center text-soft">The diff is empty</p>;
  return (
    <CodeView
      ref={view}
      className="h-full overflow-auto overscroll-contain"
      items={items}
      options={options}
      renderHeaderPrefix={({ id }) => (
        <button
          type="button"
          aria-expanded={!isShut(id)}
          aria-label={`${isShut(id) ? "Expand" : "Collapse"} ${byId.get(id)?.item.fileDiff.name ?? "the file"}`}
          className="flex size-5 items-center justify-center rounded text-soft hover:bg-sunken hover:text-text"
          onClick={() => setTurned(new Map(turned).set(id, !isShut(id)))}
        >
          {isShut(id) ? <ChevronRight aria-hidden className="size-4" /> : <ChevronDown aria-hidden className="size-4" />}
        </button>
      )}
      renderHeaderFilenameSuffix={({ id }) =>
        byId.get(id)?.binary ? <span className="ml-2 text-xs text-soft">binary file</span> : null
      }
    />
  );
}
