import { linesOf, type Span } from "@/ui/text/ansi-text";
import { outcomeAt, type Command, type Outcome } from "./commands";

/** Rows of the terminal: a command, pieces of its output, and how it ended. Each is small, so only what is seen is drawn. */
export type Row =
  | { kind: "command"; key: string; command: Command; outcome: Outcome | null }
  | { kind: "output"; key: string; lines: readonly Span[][]; isLast: boolean }
  | { kind: "more"; key: string; command: Command; outcome: Outcome; lines: number };

/** Lines of output that are shown before one asks for all. */
export const FIRST_LINES = 60;
const PIECE = 30;

/** Outputs that were asked for whole: by the command's number, the text where it had to be fetched. */
export type Whole = ReadonlyMap<number, string | null>;

const parsed = new WeakMap<Outcome, { text: string; lines: Span[][] }>();

/** The lines of an output; looked at once. */
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
