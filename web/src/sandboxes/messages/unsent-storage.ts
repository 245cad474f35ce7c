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

export function storeMessage(sandboxId: string, message: UnsentMessage): void {
  const kept = storedMessages(sandboxId);
  const isThere = kept.some(({ key }) => key === message.key);
  write(sandboxId, isThere ? kept.map((each) => (each.key === message.key ? message : each)) : [...kept, message]);
}

export function removeMessage(sandboxId: string, key: string): void {
  write(sandboxId, storedMessages(sandboxId).filter((message) => message.key !== key));
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
  const messages = JSON.parse(text) as UnsentMessage[];
  return messages.map((message) => ({ ...message, state: "failed", error: message.error ?? UNANSWERED }));
}

/** Without storage, they last as long as the page. */
function write(sandboxId: string, messages: readonly UnsentMessage[]): void {
  try {
    if (messages.length === 0) localStorage.removeItem(PREFIX + sandboxId);
    else localStorage.setItem(PREFIX + sandboxId, JSON.stringify(messages));
  } catch {
    return;
  }
}
