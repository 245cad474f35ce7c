import { linesOf, type Span } from "@/ui/text/ansi-text";
import { outcomeAt, type Command, type Outcome } from "./commands";

/**
 * A row of the terminal: a command, part of its output, or a button for more. Rows are small, so that few are rendered.
 */
export type Row =
  | { kind: "command"; key: string; command: Command; outcome: Outcome | null }
  | { kind: "output"; key: string; lines: readonly Span[][]; isLast: boolean }
  | { kind: "more"; key: string; command: Command; outcome: Outcome; lines: number };

/** The number of output lines shown at first. */
export const FIRST_LINES = 60;
const PIECE = 30;

/** Outputs that are shown in full: by command number, with the text if it was fetched. */
export type Whole = ReadonlyMap<number, string | null>;

const parsed = new WeakMap<Outcome, { text: string; lines: Span[][] }>();

/** Return the lines of an output, parsed once. */
export function linesIn(outcome: Outcome, text: string): Span[][] {
  const before = parsed.get(outcome);
  if (before?.text === text) return before.lines;
  const lines = linesOf(text.replace(/\n$/, ""));
  parsed.set(outcome, { text, lines });
  return lines;
}

export function rowsOf(commands: readonly Command[], upTo: number | null, whole: Whole): Row[] {
  const rows: Row[] = [];
  for (const command of commands) {
    const outcome = outcomeAt(command, upTo);
    rows.push({ kind: "command", key: `${command.seq}`, command, outcome });
    if (outcome === null || outcome.output === "") continue;
    const isWhole = whole.has(command.seq);
    const lines = linesIn(outcome, whole.get(command.seq) ?? outcome.output);
    const until = isWhole ? lines.length : Math.min(lines.length, FIRST_LINES);
    for (let from = 0; from < until; from += PIECE) {
      const to = Math.min(until, from + PIECE);
      rows.push({ kind: "output", key: `${command.seq}-${from}`, lines: lines.slice(from, to), isLast: to === until });
    }
    if (!isWhole && (until < lines.length || outcome.cut !== null)) {
      rows.push({ kind: "more", key: `${command.seq}-more`, command, outcome, lines: lines.length });
    }
  }
  return rows;
}
