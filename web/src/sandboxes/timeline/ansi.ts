import Anser from "anser";

export interface Span {
  text: string;
  className: string;
}

// Operating-system commands and device strings up to their end, control sequences, other escapes.
// oxlint-disable-next-line no-control-regex
const SEQUENCES = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|\u001b[PX^_][^\u001b]*(?:\u001b\\|$)|\u001b\[[0-?]*[ -/]*[@-~]|\u001b[ -/]*[0-~]|[\u0080-\u009f]/g;
// oxlint-disable-next-line no-control-regex
const COLOURING = /^\u001b\[[\d;]*m$/;
// oxlint-disable-next-line no-control-regex
const INVISIBLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text in which nothing moves, hides or reorders: only colours stay, and what cannot be seen is spelt out. */
export function tame(text: string): string {
  return spellOut(text.replace(SEQUENCES, (sequence) => (COLOURING.test(sequence) ? sequence : "")));
}

/** Text without any colours, for places that show it plain. */
export function plain(text: string): string {
  return spellOut(text.replace(SEQUENCES, ""));
}

function spellOut(text: string): string {
  return overwrite(text).replace(INVISIBLE, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A line that was written over with carriage returns, as progress bars do, shows what was written last. */
function overwrite(text: string): string {
  if (!text.includes("\r")) return text;
  return text
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line) => line.split("\r").findLast((part) => part !== "") ?? "")
    .join("\n");
}

const COLOURS: Record<string, string> = {
  black: "text-faint",
  red: "text-bad",
  green: "text-good",
  yellow: "text-warn",
  blue: "text-info",
  magenta: "text-accent",
  cyan: "text-info",
  white: "text-soft",
};

const GROUNDS: Record<string, string> = {
  red: "bg-bad-soft",
  green: "bg-good-soft",
  yellow: "bg-warn-soft",
  blue: "bg-info-soft",
  magenta: "bg-accent-soft",
  cyan: "bg-info-soft",
};

const MARKS: Record<string, string> = {
  bold: "font-semibold",
  dim: "text-faint",
  italic: "italic",
  underline: "underline",
  strikethrough: "line-through",
};

/** Coloured text in parts; each colour is one of the page's own, so that it can be read in both themes. */
export function spans(text: string): Span[] {
  const tamed = tame(text);
  if (!tamed.includes("\u001b")) return tamed === "" ? [] : [{ text: tamed, className: "" }];
  return Anser.ansiToJson(tamed, { json: true, remove_empty: true, use_classes: true }).map((part) => ({
    text: part.content,
    className: [
      COLOURS[nameOf(part.fg)] ?? "",
      GROUNDS[nameOf(part.bg)] ?? "",
      ...part.decorations.map((mark) => MARKS[mark] ?? ""),
    ]
      .filter(Boolean)
      .join(" "),
  }));
}

function nameOf(colour: string | null): string {
  return (colour ?? "").replace("ansi-", "").replace("bright-", "");
}
