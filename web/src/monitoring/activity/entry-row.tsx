import { Link } from "@tanstack/react-router";
import { memo } from "react";
import { FileLink } from "@/sandboxes/changes/file-link";
import { Badge, type Tone } from "@/ui/badge";
import { cn } from "@/ui/cn";
import { escapeControls } from "@/ui/text/control-characters";
import { Prose } from "@/ui/text/markdown";
import { Clock } from "@/ui/time/time";
import type { Entry, Kind } from "./entries";

const TONES: Record<Kind, Tone> = { edits: "accent", tools: "neutral", messages: "info", lifecycle: "info", status: "neutral", errors: "bad" };

export const EntryRow = memo(function EntryRow({ entry, project, title }: { entry: Entry; project: string; title: string | undefined }) {
  return (
    <article className="flex items-start gap-3 border-b px-3 py-1.5">
      <Clock at={entry.at} className="w-14 shrink-0 font-mono text-2xs leading-5 text-faint" />
      <div className="min-w-0 flex-1">
        {entry.change !== null ? (
          <FileLink change={entry.change} sandboxId={entry.sandboxId ?? ""} />
        ) : isProse(entry) ? (
          <div className="flex items-start gap-2 text-xs leading-5">
            <Badge tone={TONES[entry.kind]} className="px-1.5 text-2xs">
              {escapeControls(entry.what)}
            </Badge>
            <div className="max-h-24 min-w-0 flex-1 overflow-hidden">
              <Prose>{escapeControls(entry.text)}</Prose>
            </div>
          </div>
        ) : (
          <p className="line-clamp-4 text-xs leading-5" title={entry.text.length > 120 ? entry.text : undefined}>
            <Badge tone={entry.tone ?? TONES[entry.kind]} className="mr-2 px-1.5 text-2xs">
              {escapeControls(entry.what)}
            </Badge>
            <span className={cn("[overflow-wrap:anywhere]", (entry.kind === "tools" || entry.kind === "errors") && "font-mono text-2xs")}>
              {escapeControls(entry.text)}
            </span>
          </p>
        )}
        <p className="flex flex-wrap gap-x-2 text-2xs text-faint">
          <span className="[overflow-wrap:anywhere]">{project}</span>
          <Where entry={entry} title={title} />
        </p>
      </div>
    </article>
  );
});

/** Whether its text was written as Markdown, by an agent or a person. */
function isProse({ kind, what, text }: Entry): boolean {
  return text !== "" && (kind === "messages" || what === "Agent completed");
}

/** A link to where it happened. */
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
