/** Letters that the server has not taken, kept for each sandbox in this browser. */

import type { Letter } from "./unsent";

const PREFIX = "letters:";
const UNANSWERED = "the page was left before the server answered; sent again, it is still said only once";

export function keptLetters(sandboxId: string): Letter[] {
  try {
    return parseLetters(localStorage.getItem(PREFIX + sandboxId));
  } catch {
    return [];
  }
}

export function keepLetter(sandboxId: string, letter: Letter): void {
  const kept = keptLetters(sandboxId);
  const isThere = kept.some(({ key }) => key === letter.key);
  write(sandboxId, isThere ? kept.map((each) => (each.key === letter.key ? letter : each)) : [...kept, letter]);
}

export function forgetLetter(sandboxId: string, key: string): void {
  write(sandboxId, keptLetters(sandboxId).filter((letter) => letter.key !== key));
}

/** Another tab of this browser kept or forgot some; what it leaves is told, for as long as the page lives. */
export function hearOfLetters(changed: (sandboxId: string, left: readonly Letter[]) => void): void {
  addEventListener("storage", ({ key, newValue }) => {
    if (key?.startsWith(PREFIX)) changed(key.slice(PREFIX.length), parseLetters(newValue));
  });
}

/** None of them is on its way any more: who was to wait for the answer is gone. */
export function parseLetters(text: string | null): Letter[] {
  if (text === null) return [];
  const letters = JSON.parse(text) as Letter[];
  return letters.map((letter) => ({ ...letter, state: "failed", error: letter.error ?? UNANSWERED }));
}

/** A browser that keeps nothing loses them when the page goes, no sooner. */
function write(sandboxId: string, letters: readonly Letter[]): void {
  try {
    if (letters.length === 0) localStorage.removeItem(PREFIX + sandboxId);
    else localStorage.setItem(PREFIX + sandboxId, JSON.stringify(letters));
  } catch {
    return;
  }
}
