/** Messages that the server has not accepted, stored in this browser by sandbox. */

import type { UnsentMessage } from "./unsent";

const PREFIX = "unsent:";
const UNANSWERED = "the page was closed before the server responded; sending it again creates no duplicate";

export function storedMessages(sandboxId: string): UnsentMessage[] {
  try {
    return parseMessages(localStorage.getItem(PREFIX + sandboxId));
  } catch {
    return [];
  }
}

export function storeMessage(sandboxId: string, letter: UnsentMessage): void {
  const kept = storedMessages(sandboxId);
  const isThere = kept.some(({ key }) => key === letter.key);
  write(sandboxId, isThere ? kept.map((each) => (each.key === letter.key ? letter : each)) : [...kept, letter]);
}

export function removeMessage(sandboxId: string, key: string): void {
  write(sandboxId, storedMessages(sandboxId).filter((letter) => letter.key !== key));
}

/** Call back when another tab stores or removes messages, with those that remain. */
export function watchStorage(changed: (sandboxId: string, left: readonly UnsentMessage[]) => void): void {
  addEventListener("storage", ({ key, newValue }) => {
    if (key?.startsWith(PREFIX)) changed(key.slice(PREFIX.length), parseMessages(newValue));
  });
}

/** Nothing waits for their responses any more, so all of them count as failed. */
export function parseMessages(text: string | null): UnsentMessage[] {
  if (text === null) return [];
  const letters = JSON.parse(text) as UnsentMessage[];
  return letters.map((letter) => ({ ...letter, state: "failed", error: letter.error ?? UNANSWERED }));
}

/** Without storage, they last as long as the page. */
function write(sandboxId: string, letters: readonly UnsentMessage[]): void {
  try {
    if (letters.length === 0) localStorage.removeItem(PREFIX + sandboxId);
    else localStorage.setItem(PREFIX + sandboxId, JSON.stringify(letters));
  } catch {
    return;
  }
}
