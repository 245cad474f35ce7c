import Anser from "anser";
import { acts, escapeControls } from "./control-characters";

export const HUES = ["red", "green", "yellow", "blue", "magenta", "cyan", "grey"] as const;
export type Hue = (typeof HUES)[number];

/** A part of a line with one style. */
export interface Span {
  text: string;
  hue: Hue | null;
  ground: Hue | null;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  strike: boolean;
}

/* Each pattern ends at the first character that cannot belong to it, so hostile text takes linear time. */
// oxlint-disable no-control-regex
const STRINGS = /(?:\u001b[\]PX^_]|[\u0090\u0098\u009d\u009e\u009f])[^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)/g;
const SEQUENCES = /(?:\u001b\[|\u009b)([0-?]*)([ -/]*)([@-~])/g;
const SHORT = /\u001b[ -/]*[0-Z\\^-~]/g;
const COLOURS = /\u001b\[[0-9;]*m/;
// oxlint-enable no-control-regex

/** Return the text with colours only: other escape sequences are removed, remaining control characters are escaped. */
export function coloured(text: string): string {
  if (!acts(text)) return text;
  const kept = text
    .replace(/\r\n/g, "\n")
    .replace(/\r/g, "\n")
    .replace(STRINGS, "")
    .replace(SEQUENCES, (all, parameters: string, between: string, final: string) =>
      final === "m" && between === "" && all.startsWith("\u001b") && /^[0-9;:]*$/.test(parameters)
        ? `\u001b[${parameters.replaceAll(":", ";")}m`
        : "",
    )
    .replace(SHORT, (all) => (all === "\u001b[" ? all : ""));
  return kept.split(/(\u001b\[[0-9;]*m)/).map((part) => (COLOURS.test(part) ? part : escapeControls(part))).join(""); // oxlint-disable-line no-control-regex
}

/** Return the text without any control characters, for copying and searching. */
export function plain(text: string): string {
  return coloured(text).replace(/\u001b\[[0-9;]*m/g, ""); // oxlint-disable-line no-control-regex
}

/** Parse a program's output into styled spans with readable colours. */
export function spansOf(text: string): Span[] {
  return Anser.ansiToJson(coloured(text), { json: true, use_classes: true, remove_empty: true }).map((entry) => {
    const has = (name: Anser.DecorationName) => entry.decorations.includes(name);
    return {
      text: entry.content,
      hue: hueOf(entry.fg, entry.fg_truecolor),
      ground: hueOf(entry.bg, entry.bg_truecolor),
      bold: has("bold"),
      dim: has("dim"),
      italic: has("italic"),
      underline: has("underline"),
      strike: has("strikethrough"),
    };
  });
}

/** Return the spans by line. */
export function linesOf(text: string): Span[][] {
  const lines: Span[][] = [[]];
  for (const span of spansOf(text)) {
    for (const [index, part] of span.text.split("\n").entries()) {
      if (index > 0) lines.push([]);
      if (part !== "") lines.at(-1)?.push({ ...span, text: part });
    }
  }
  return lines;
}

const NAMED: Record<string, Hue | null> = { black: "grey", white: null };

/** Reduce any colour to its hue: the theme sets the brightness, so that no text can be hidden. */
function hueOf(name: string | null, rgb: string | null): Hue | null {
  if (!name) return null;
  const plainName = name.replace(/^ansi-(?:bright-)?/, "");
  if (plainName in NAMED) return NAMED[plainName] ?? null;
  const known = HUES.find((hue) => hue === plainName);
  if (known !== undefined) return known;
  const palette = /^palette-(\d+)$/.exec(plainName)?.[1];
  if (palette !== undefined) return ofPalette(Number(palette));
  const [red = 0, green = 0, blue = 0] = (rgb ?? "").split(",").map(Number);
  return ofRgb(red, green, blue);
}

function ofPalette(index: number): Hue | null {
  if (index < 16) return (["grey", "red", "green", "yellow", "blue", "magenta", "cyan", null] as const)[index % 8] ?? null;
  if (index >= 232) return index < 244 ? "grey" : null;
  const cube = index - 16;
  return ofRgb(Math.floor(cube / 36) * 51, (Math.floor(cube / 6) % 6) * 51, (cube % 6) * 51);
}

function ofRgb(red: number, green: number, blue: number): Hue | null {
  const [high, low] = [Math.max(red, green, blue), Math.min(red, green, blue)];
  if (high - low < 40) return high < 150 ? "grey" : null;
  const middle = (high + low) / 2;
  const [r, g, b] = [red > middle, green > middle, blue > middle];
  if (r && g) return "yellow";
  if (r && b) return "magenta";
  if (g && b) return "cyan";
  return r ? "red" : g ? "green" : "blue";
}
