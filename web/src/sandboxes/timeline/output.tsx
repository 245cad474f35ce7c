import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { fetchText } from "@/api/client";
import { AnsiText } from "@/ui/text/ansi";
import { Button } from "@/ui/button";
import { bytes } from "@/ui/text/numbers";
import { ScrollBox } from "@/ui/scroll/scroll-box";
import type { Cut } from "../event-data";
import { useTimelineState } from "./state";

const LINES = 16;
const CHARACTERS = 4_000;
/** Longer output is not rendered; it can be downloaded. */
const MOST = 1_000_000;

/** The start of an output, and all of it on demand. */
export function Output({ cut, label }: { cut: Cut; label: string }) {
  const { sandboxId } = useTimelineState();
  const [isWhole, setWhole] = useState(false);
  const path = cut.blob === null ? null : `/api/v1/sandboxes/${encodeURIComponent(sandboxId)}/blobs/${cut.blob}`;
  const blob = useQuery({
    queryKey: ["blob", sandboxId, cut.blob],
    queryFn: ({ signal }) => fetchText(path ?? "", signal),
    enabled: isWhole && path !== null,
    staleTime: Infinity,
  });
  const short = begin(cut.text);
  const isShort = short.length < cut.text.length || path !== null;
  const text = isWhole ? (blob.data ?? cut.text).slice(0, MOST) : short;
  if (cut.text === "") return <p className="text-xs text-faint">No {label.toLowerCase()}</p>;
  return (
    <div className="min-w-0 space-y-1">
      <ScrollBox isMono label={label} className={isWhole ? "max-h-[32rem]" : "max-h-96"}>
        <AnsiText text={text} />
      </ScrollBox>
      {isShort ? (
        <div className="flex flex-wrap items-center gap-2">
          <Button size="small" variant="quiet" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? "Show less" : `Show all (${bytes(cut.size ?? cut.text.length)})`}
          </Button>
          {path !== null ? (
            <a href={path} download="output.txt" className="text-xs text-accent underline">
              Download
            </a>
          ) : null}
          <span role="status" className="text-xs text-faint">
            {isWhole ? note(blob.isFetching, blob.isError, (blob.data ?? "").length, path === null && cut.isCut) : null}
          </span>
        </div>
      ) : null}
    </div>
  );
}

function note(isFetching: boolean, isError: boolean, length: number, isGone: boolean): string | null {
  if (isFetching) return "Loading the rest…";
  if (isError) return "The rest could not be loaded. Collapse and expand it to retry.";
  if (isGone) return "The rest was not stored.";
  return length > MOST ? `Showing the first ${bytes(MOST)}. Download the file to see all of it.` : null;
}

function begin(text: string): string {
  let end = -1;
  for (let line = 0; line < LINES; line += 1) {
    end = text.indexOf("\n", end + 1);
    if (end === -1) return text.slice(0, CHARACTERS);
  }
  return text.slice(0, Math.min(end, CHARACTERS));
}
