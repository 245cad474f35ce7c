/**
 * Characters that act on the display instead of being shown: C0 except tab and newline, DEL, C1, bidi controls,
 * invisible marks. Joiners stay, because Persian words and many emoji need them.
 */
const ACTING =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

const ANY_ACTING = new RegExp(`\\r|${ACTING.source}`, "u");

/** Whether a text contains such characters; most do not. */
export function acts(text: string): boolean {
  return ANY_ACTING.test(text);
}

function written(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\u{${code.toString(16)}}`;
}

/** Escape all such characters in a text. */
export function escapeControls(text: string): string {
  return text.replace(/\r(?=\n|$)/g, "").replace(/\r/g, "\\r").replace(ACTING, written);
}

/** The same for a diff, which keeps its line endings: without them, changed lines would look equal. */
export function escapeControlsInDiff(patch: string): string {
  return patch.replace(/\r(?!\n)/g, "\\r").replace(ACTING, written);
}
