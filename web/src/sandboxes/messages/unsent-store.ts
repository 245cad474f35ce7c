/** The outbox of each sandbox, wherever the person goes in the page. */

import { forgetLetter, hearOfLetters, keepLetter, keptLetters } from "./unsent-storage";
import { type Letter, type Outbox, type Posting, post } from "./unsent";

const outboxes = new Map<string, Outbox>();
const watchers = new Set<() => void>();
let isHearing = false;

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
  if (!isHearing) hearOfLetters(letGo);
  isHearing = true;
  watchers.add(changed);
  return () => {
    watchers.delete(changed);
    if (watchers.size === 0) forgetSent();
  };
}

/** What is not among those left was sent or dropped in another tab. */
function letGo(sandboxId: string, left: readonly Letter[]): void {
  const keys = new Set(left.map(({ key }) => key));
  replace(sandboxId, outboxOf(sandboxId).filter(({ key, state }) => state !== "failed" || keys.has(key)));
}

/** Who looks next is shown the server's own list. */
function forgetSent(): void {
  for (const [sandboxId, outbox] of outboxes) outboxes.set(sandboxId, outbox.filter(({ state }) => state !== "sent"));
}

function replace(sandboxId: string, outbox: Outbox): void {
  outboxes.set(sandboxId, outbox);
  for (const each of watchers) each();
}
