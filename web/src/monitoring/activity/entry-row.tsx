import { Link } from "@tanstack/react-router";
import { memo } from "react";
import { FileLink } from "@/sandboxes/changes/file-link";
import { Badge, type Tone } from "@/ui/badge";
import { cn } from "@/ui/cn";
import { escapeControls } from "@/ui/text/control-characters";
import { Clock } from "@/ui/time/time";
import type { Entry, Kind } from "./entries";

const TONES: Record<Kind, Tone> = { edits: "accent", tools: "neutral", messages: "info", lifecycle: "info", status: "neutral", errors: "bad" };

export const EntryRow = memo(function EntryRow({ entry, project, title }: { entry: Entry; project: string; title: string | undefined }) {
  return (
    <article className="flex items-start gap-3 border-b px-3 py-1.5">
      <Clock at={entry.at} className="w-14 shrink-0 font-mono text-2xs leading-5 text-faint" />
      <div className="min-w-0 flex-1">
        {entry.change === null ? (
          <p className="line-clamp-4 text-xs leading-5" title={entry.text.length > 120 ? entry.text : undefined}>
            <Badge tone={entry.tone ?? TONES[entry.kind]} className="mr-2 px-1.5 text-2xs">
              {escapeControls(entry.what)}
            </Badge>
            <span className={cn("[overflow-wrap:anywhere]", (entry.kind === "tools" || entry.kind === "errors") && "font-mono text-2xs")}>
              {escapeControls(entry.text)}
            </span>
          </p>
        ) : (
          <FileLink change={entry.change} sandboxId={entry.sandboxId ?? ""} />
        )}
        <p className="flex flex-wrap gap-x-2 text-2xs text-faint">
          <span className="[overflow-wrap:anywhere]">{project}</span>
          <Where entry={entry} title={title} />
        </p>
      </div>
    </article>
  );
});

/** Where it happened, and the way there. */
function Where({ entry, title }: { entry: Entry; title: string | undefined }) {
  const look = "text-soft underline-offset-2 hover:text-accent hover:underline";
  return (
    <>
      {entry.sandboxId === null ? null : (
        <Link
          to="/sandbox/$sandboxId"
          params={{ sandboxId: entry.sandboxId }}
          search={entry.seq === null ? {} : { ev: entry.seq }}
          title={entry.sandboxId}
          className={cn(look, "min-w-0 truncate", !title && "font-mono")}
        >
          {title || entry.sandboxId}
          {entry.seq === null ? "" : ` #${entry.seq}`}
        </Link>
      )}
      {entry.ticketId === null ? null : (
        <Link to="/tickets/$ticketId" params={{ ticketId: entry.ticketId }} className={look}>
          ticket
        </Link>
      )}
    </>
  );
}
