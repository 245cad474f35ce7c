import { memo, useMemo } from "react";
import { type Hue, type Span, spansOf } from "./ansi-text";
import { cn } from "../cn";

const HUES: Record<Hue, string> = {
  red: "text-bad",
  green: "text-good",
  yellow: "text-warn",
  blue: "text-info",
  magenta: "text-accent",
  cyan: "text-info",
  grey: "text-faint",
};

const GROUNDS: Record<Hue, string> = {
  red: "bg-bad-soft",
  green: "bg-good-soft",
  yellow: "bg-warn-soft",
  blue: "bg-info-soft",
  magenta: "bg-accent-soft",
  cyan: "bg-info-soft",
  grey: "bg-surface",
};

function look(span: Span): string {
  return cn(
    span.hue === null ? (span.dim ? "text-faint" : "") : HUES[span.hue],
    span.ground === null ? "" : GROUNDS[span.ground],
    // A hue on another hue may be unreadable; such text keeps the default colour.
    span.ground !== null && span.hue !== null && span.ground !== span.hue && "text-text",
    span.bold && "font-bold",
    span.italic && "italic",
    span.underline && "underline",
    span.strike && "line-through",
  );
}

/** A program's output in colour. Everything in it is text; matches of `query` are marked. */
export function AnsiSpans({ spans, query = "" }: { spans: readonly Span[]; query?: string }) {
  return spans.map((span, index) => {
    const marked = <Marked key={index} text={span.text} query={query} />;
    const className = look(span);
    return className === "" ? (
      marked
    ) : (
      <span key={index} className={className}>
        {marked}
      </span>
    );
  });
}

export const AnsiText = memo(function AnsiText({ text }: { text: string }) {
  const spans = useMemo(() => spansOf(text), [text]);
  return <AnsiSpans spans={spans} />;
});

/** A text with matches of the query marked. */
export function Marked({ text, query }: { text: string; query: string }) {
  if (query === "") return text;
  const parts: string[] = [];
  const lower = text.toLowerCase();
  const wanted = query.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), text.slice(at, at + wanted.length));
    from = at + wanted.length;
  }
  parts.push(text.slice(from));
  return parts.map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      <mark key={index} className="rounded-xs bg-warn-soft text-warn">
        {part}
      </mark>
    ),
  );
}
