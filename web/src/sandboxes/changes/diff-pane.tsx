import { useQuery } from "@tanstack/react-query";
import { ArrowLeft, Download, WrapText } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { CopyButton } from "@/ui/copy-button";
import { Diff, preloadDiff, type DiffLayout } from "@/ui/diff/diff";
import { bytes } from "@/ui/text/numbers";
import { save } from "@/ui/text/download";
import { Loading, LoadError } from "@/ui/loading/placeholders";
import { Toggle } from "@/ui/form/toggle";
import type { TextQuery } from "./queries";

const LAYOUTS = [
  { value: "unified", label: "Unified" },
  { value: "split", label: "Split" },
] as const;

function useKept<T extends string>(key: string, first: T): [T, (value: T) => void] {
  const [value, setValue] = useState(() => (localStorage.getItem(key) as T | null) ?? first);
  return [
    value,
    (next) => {
      localStorage.setItem(key, next);
      setValue(next);
    },
  ];
}

/** A diff with its toolbar. */
export function DiffPane(props: {
  title: ReactNode;
  query: TextQuery;
  fileName: string;
  path: string | null;
  onBack: () => void;
  /** A notice above the diff. */
  notice?: ReactNode;
}) {
  const text = useQuery(props.query);
  // Load the diff viewer in parallel with the text.
  useEffect(preloadDiff, []);
  const [layout, setLayout] = useKept<DiffLayout>("diff-layout", "unified");
  const [wrap, setWrap] = useKept<"yes" | "no">("diff-wrap", "no");
  return (
    <section aria-label="Diff" className="flex h-full min-w-0 flex-col">
      <header className="flex flex-wrap items-center gap-2 border-b bg-surface px-2 py-1.5">
        <Button variant="quiet" size="small" className="min-[1100px]:hidden @3xl:hidden" onClick={props.onBack}>
          <ArrowLeft /> Files
        </Button>
        <h2 className="min-w-0 flex-1 basis-40 text-xs font-medium [overflow-wrap:anywhere]">
          {props.title}
          {text.data === undefined ? null : <span className="ml-2 font-normal whitespace-nowrap text-faint">{bytes(text.data.length)}</span>}
        </h2>
        <div className="ml-auto flex items-center gap-2">
          <Toggle label="Diff layout" value={layout} options={LAYOUTS} onChange={setLayout} />
          <Button
            variant="quiet"
            size="icon"
            className={cn("size-7", wrap === "yes" && "bg-sunken text-text")}
            aria-pressed={wrap === "yes"}
            aria-label="Wrap long lines"
            title="Wrap long lines"
            onClick={() => setWrap(wrap === "yes" ? "no" : "yes")}
          >
            <WrapText />
          </Button>
          {text.data === undefined ? null : <Keep text={text.data} fileName={props.fileName} />}
        </div>
      </header>
      {props.notice}
      <div className="min-h-0 flex-1 bg-surface">
        {text.isPending ? (
          <Loading what="the diff" />
        ) : text.isError ? (
          <LoadError what="The diff" error={text.error} retry={() => void text.refetch()} />
        ) : (
          <Diff patch={text.data} name={JSON.stringify(props.query.queryKey)} layout={layout} wrap={wrap === "yes"} path={props.path} />
        )}
      </div>
    </section>
  );
}

function Keep({ text, fileName }: { text: string; fileName: string }) {
  return (
    <>
      <CopyButton text={text} label="Copy diff" className="size-7" />
      <Button
        variant="quiet"
        size="icon"
        className="size-7"
        aria-label="Download diff"
        title="Download diff"
        onClick={() => save(text, fileName)}
      >
        <Download />
      </Button>
    </>
  );
}
