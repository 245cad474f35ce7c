import { useEffect, useRef, type ReactNode } from "react";
import { cn } from "@/ui/cn";
import { escapeControls } from "@/ui/text/control-characters";
import { bytes } from "@/ui/text/numbers";
import { ChangeTypeBadge } from "./change-type";
import type { FileFacts } from "./changes";
import { Lines } from "./lines";

/** A changed file; a click opens its diff. */
export function FileCard(props: {
  file: FileFacts;
  isOpen: boolean;
  onOpen: () => void;
  /** Details below the path. */
  note: ReactNode;
  /** A button next to the card. */
  action?: ReactNode;
}) {
  const { file, isOpen } = props;
  const card = useRef<HTMLDivElement>(null);
  // A link may point to a file far down the list.
  useEffect(() => {
    if (isOpen) card.current?.scrollIntoView({ block: "nearest" });
  }, [isOpen]);
  return (
    <div ref={card} className={cn("flex items-start rounded-md border bg-surface", isOpen && "min-[1100px]:border-accent min-[1100px]:bg-accent-soft @3xl:border-accent @3xl:bg-accent-soft")}>
      <button
        type="button"
        aria-current={isOpen ? "true" : undefined}
        onClick={props.onOpen}
        className="min-w-0 flex-1 rounded-md px-2.5 py-1.5 text-left hover:bg-sunken/60"
      >
        <Path file={file} />
        <span className="mt-0.5 flex flex-wrap items-center gap-x-2 gap-y-0.5 text-xs text-soft">
          <ChangeTypeBadge type={file.type} />
          {file.tooLarge ? (
            <span>too large to show{file.size ? ` (${bytes(file.size)})` : ""}</span>
          ) : (
            <Lines {...file} />
          )}
          {props.note}
        </span>
      </button>
      {props.action}
    </div>
  );
}

/** The path, with the file name emphasized. */
function Path({ file }: { file: FileFacts }) {
  const path = escapeControls(file.path);
  const cut = path.lastIndexOf("/") + 1;
  return (
    <span className="block font-mono text-xs [overflow-wrap:anywhere]">
      {file.oldPath !== null && file.oldPath !== file.path ? (
        <>
          <span className="text-soft line-through decoration-1">{escapeControls(file.oldPath)}</span>
          <span className="text-soft"> → </span>
        </>
      ) : null}
      <span className="text-soft">{path.slice(0, cut)}</span>
      <span className="font-semibold">{path.slice(cut)}</span>
    </span>
  );
}
