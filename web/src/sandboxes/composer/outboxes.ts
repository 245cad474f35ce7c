/** The outbox of each sandbox, wherever the person goes in the page. */

import { forgetLetter, keepLetter, keptLetters, watchLetters } from "./kept-letters";
import { type Outbox, type Posting, post } from "./outbox";

const outboxes = new Map<string, Outbox>();
const watchers = new Set<() => void>();
let unwatchLetters: (() => void) | undefined;

export function outboxOf(sandboxId: string): Outbox {
  const known = outboxes.get(sandboxId);
  if (known !== undefined) return known;
  const kept = keptLetters(sandboxId);
  outboxes.set(sandboxId, kept);
  return kept;
}

export function changeOutbox(sandboxId: string, posting: Posting): void {
  const outbox = post(outboxOf(sandboxId), posting);
  const letter = outbox.find(({ key }) => key === posting.key);
  if (letter === undefined || letter.state === "sent") forgetLetter(sandboxId, posting.key);
  else keepLetter(sandboxId, letter);
  replace(sandboxId, outbox);
}

export function watchOutboxes(changed: () => void): () => void {
  watchers.add(changed);
  unwatchLetters ??= watchLetters((sandboxId, left) => {
    const keys = new Set(left.map(({ key }) => key));
    replace(sandboxId, outboxOf(sandboxId).filter(({ key, state }) => state !== "failed" || keys.has(key)));
  });
  return () => {
    watchers.delete(changed);
    if (watchers.size > 0) return;
    unwatchLetters?.();
    unwatchLetters = undefined;
    forgetSent();
  };
}

/** Who looks next is shown the server's own list. */
function forgetSent(): void {
  for (const [sandboxId, outbox] of outboxes) outboxes.set(sandboxId, outbox.filter(({ state }) => state !== "sent"));
}

function replace(sandboxId: string, outbox: Outbox): void {
  outboxes.set(sandboxId, outbox);
  for (const each of watchers) each();
}
