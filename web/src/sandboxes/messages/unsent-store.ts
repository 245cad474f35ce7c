/** Unsent messages by sandbox, kept while the user navigates. */

import { removeMessage, watchStorage, storeMessage, storedMessages } from "./unsent-storage";
import { type UnsentMessage, type UnsentMessages, type Posting, post } from "./unsent";

const outboxes = new Map<string, UnsentMessages>();
const watchers = new Set<() => void>();
let isWatching = false;

export function unsentFor(sandboxId: string): UnsentMessages {
  const known = outboxes.get(sandboxId);
  if (known !== undefined) return known;
  const kept = storedMessages(sandboxId);
  outboxes.set(sandboxId, kept);
  return kept;
}

export function dispatchUnsent(sandboxId: string, posting: Posting): void {
  const outbox = post(unsentFor(sandboxId), posting);
  const letter = outbox.find(({ key }) => key === posting.key);
  if (letter === undefined || letter.state === "sent") removeMessage(sandboxId, posting.key);
  else storeMessage(sandboxId, letter);
  replace(sandboxId, outbox);
}

export function watchUnsent(changed: () => void): () => void {
  if (!isWatching) watchStorage(letGo);
  isWatching = true;
  watchers.add(changed);
  return () => {
    watchers.delete(changed);
    if (watchers.size === 0) forgetSent();
  };
}

/** Messages that another tab sent or discarded are gone from its list. */
function letGo(sandboxId: string, left: readonly UnsentMessage[]): void {
  const keys = new Set(left.map(({ key }) => key));
  replace(sandboxId, unsentFor(sandboxId).filter(({ key, state }) => state !== "failed" || keys.has(key)));
}

/** The next viewer sees the server's list. */
function forgetSent(): void {
  for (const [sandboxId, outbox] of outboxes) outboxes.set(sandboxId, outbox.filter(({ state }) => state !== "sent"));
}

function replace(sandboxId: string, outbox: UnsentMessages): void {
  outboxes.set(sandboxId, outbox);
  for (const each of watchers) each();
}
