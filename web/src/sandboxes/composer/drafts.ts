/** What was typed and not sent, kept for each sandbox in this browser. */

const keyOf = (sandboxId: string) => `draft:${sandboxId}`;

export function readDraft(sandboxId: string): string {
  try {
    return localStorage.getItem(keyOf(sandboxId)) ?? "";
  } catch {
    return "";
  }
}

/** A browser that keeps nothing loses the draft when the page goes, no sooner. */
export function keepDraft(sandboxId: string, text: string): void {
  try {
    if (text === "") localStorage.removeItem(keyOf(sandboxId));
    else localStorage.setItem(keyOf(sandboxId), text);
  } catch {
    return;
  }
}
