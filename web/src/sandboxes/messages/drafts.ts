/** Drafts of messages by sandbox, stored in this browser and shared by its tabs. */

const PREFIX = "draft:";
const drafts = new Map<string, string>();
const watchers = new Set<() => void>();

export function draftOf(sandboxId: string): string {
  const known = drafts.get(sandboxId);
  if (known !== undefined) return known;
  const kept = read(sandboxId);
  drafts.set(sandboxId, kept);
  return kept;
}

export function keepDraft(sandboxId: string, text: string): void {
  write(sandboxId, text);
  replace(sandboxId, text);
}

export function watchDrafts(changed: () => void): () => void {
  addEventListener("storage", hear);
  watchers.add(changed);
  return () => watchers.delete(changed);
}

/** Another tab changed or sent a draft. */
function hear({ key, newValue }: StorageEvent): void {
  if (key?.startsWith(PREFIX)) replace(key.slice(PREFIX.length), newValue ?? "");
}

function replace(sandboxId: string, text: string): void {
  drafts.set(sandboxId, text);
  for (const each of watchers) each();
}

function read(sandboxId: string): string {
  try {
    return localStorage.getItem(PREFIX + sandboxId) ?? "";
  } catch {
    return "";
  }
}

/** Without storage, a draft lasts as long as the page. */
function write(sandboxId: string, text: string): void {
  try {
    if (text === "") localStorage.removeItem(PREFIX + sandboxId);
    else localStorage.setItem(PREFIX + sandboxId, text);
  } catch {
    return;
  }
}
