import { memo } from "react";
import { AnsiSpans } from "@/ui/text/ansi";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { bytes, count } from "@/ui/text/numbers";
import { CommandRow } from "./command-row";
import type { Command, Outcome } from "./commands";
import { FIRST_LINES, type Row } from "./rows";
import { fullOutput } from "./use-full-output";

interface Props {
  sandboxId: string;
  row: Row;
  query: string;
  isLive: boolean;
  trouble: ReadonlyMap<number, string>;
  onShow: (command: Command, outcome: Outcome) => Promise<void>;
}

export const TerminalRow = memo(function TerminalRow({ sandboxId, row, query, isLive, trouble, onShow }: Props) {
  switch (row.kind) {
    case "command":
      return (
        <CommandRow
          sandboxId={sandboxId}
          command={row.command}
          outcome={row.outcome}
          query={query}
          isLive={isLive}
          fullOutput={() => (row.outcome === null ? Promise.resolve("") : fullOutput(sandboxId, row.outcome))}
        />
      );
    case "output":
      return (
        <pre
          className={cn(
            "px-3 pl-7 font-mono text-xs leading-5 text-soft [font-variant-ligatures:none] [overflow-wrap:anywhere] whitespace-pre-wrap",
            row.isLast && "pb-1.5",
          )}
        >
          {row.lines.map((line, index) => (
            <div key={index} className="min-h-5">
              <AnsiSpans spans={line} query={query} />
            </div>
          ))}
        </pre>
      );
    case "more":
      return (
        <div className="px-3 py-1 pl-7">
          {isLost(row) ? (
            <p className="text-xs text-faint">The rest of the output was not stored.</p>
          ) : (
            <Button size="small" onClick={() => void onShow(row.command, row.outcome)}>
              {label(row)}
            </Button>
          )}
          {trouble.has(row.command.seq) ? (
            <span role="alert" className="ml-2 text-xs text-bad">
              {trouble.get(row.command.seq)}
            </span>
          ) : null}
        </div>
      );
  }
});

/** Whether everything that is stored of an output is shown, and the rest cannot be fetched. */
function isLost({ outcome, lines }: { outcome: Outcome; lines: number }): boolean {
  return outcome.cut?.blob === null && lines <= FIRST_LINES;
}

function label({ outcome, lines }: { outcome: Outcome; lines: number }): string {
  if (outcome.cut !== null) {
    if (outcome.cut.blob === null) return "Show stored output";
    return `Show all${outcome.cut.size === null ? "" : ` (${bytes(outcome.cut.size)})`}`;
  }
  return `Show all ${count(lines)} lines`;
}
