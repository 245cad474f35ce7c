/** Return the name of a key press: `c`, `?`, `ArrowDown`, `mod+k` (Ctrl, or Command on a Mac). */
export function nameOf(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">): string {
  const { key } = event;
  if (event.ctrlKey || event.metaKey) return `mod+${key.toLowerCase()}`;
  return event.altKey ? `alt+${key.toLowerCase()}` : key;
}

export interface Match {
  /** The completed sequence. */
  complete: string | null;
  /** The start of a sequence that is not complete yet. */
  pending: string;
}

/** Process one more press. A press that does not continue the pending sequence starts a new one. */
export function advance(pending: string, pressed: string, sequences: readonly string[]): Match {
  for (const tried of pending === "" ? [pressed] : [`${pending} ${pressed}`, pressed]) {
    if (sequences.includes(tried)) return { complete: tried, pending: "" };
    if (sequences.some((sequence) => sequence.startsWith(`${tried} `))) return { complete: null, pending: tried };
  }
  return { complete: null, pending: "" };
}

/** Whether a press belongs to an input or a menu rather than to the page. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return false;
  return target.closest("input, textarea, select, [contenteditable=''], [contenteditable=true], [role=menu]") !== null;
}

/** Return the labels of a sequence, one per press. */
export function shown(sequence: string, isMac: boolean): string[] {
  const names: Record<string, string> = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→" };
  return sequence.split(" ").map((press) => {
    const parts = press.split("+").filter((part) => part !== "");
    if (parts.length < 2) return names[press] ?? press;
    const [modifier, key = ""] = parts;
    const word = modifier === "mod" ? (isMac ? "⌘" : "Ctrl") : "Alt";
    return `${word} ${names[key] ?? (key.length === 1 ? key.toUpperCase() : key)}`;
  });
}
