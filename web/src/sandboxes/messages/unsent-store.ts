/** Unsent messages by sandbox, kept while the user navigates. */

import { removeMessage, watchStorage, storeMessage, storedMessages } from "./unsent-storage";
import { type UnsentMessage, type UnsentMessages, type UnsentAction, reduceUnsent } from "./unsent";

const stores = new Map<string, UnsentMessages>();
const watchers = new Set<() => void>();
let isWatching = false;

export function unsentFor(sandboxId: string): UnsentMessages {
  const known = stores.get(sandboxId);
  if (known !== undefined) return known;
  const kept = storedMessages(sandboxId);
  stores.set(sandboxId, kept);
  return kept;
}

export function dispatchUnsent(sandboxId: string, action: UnsentAction): void {
  const unsent = reduceUnsent(unsentFor(sandboxId), action);
  const message = unsent.find(({ key }) => key === action.key);
  if (message === undefined || message.state === "sent") removeMessage(sandboxId, action.key);
  else storeMessage(sandboxId, message);
  replace(sandboxId, unsent);
}

export function watchUnsent(changed: () => void): () => void {
  if (!isWatching) watchStorage(keepOnly);
  isWatching = true;
  watchers.add(changed);
  return () => {
    watchers.delete(changed);
    if (watchers.size === 0) forgetSent();
  };
}

/** Messages that another tab sent or discarded are gone from its list. */
function keepOnly(sandboxId: string, left: readonly UnsentMessage[]): void {
  const keys = new Set(left.map(({ key }) => key));
  replace(sandboxId, unsentFor(sandboxId).filter(({ key, state }) => state !== "failed" || keys.has(key)));
}

/** The next viewer sees the server's list. */
function forgetSent(): void {
  for (const [sandboxId, unsent] of stores) stores.set(sandboxId, unsent.filter(({ state }) => state !== "sent"));
}

function replace(sandboxId: string, unsent: UnsentMessages): void {
  stores.set(sandboxId, unsent);
  for (const each of watchers) each();
}
