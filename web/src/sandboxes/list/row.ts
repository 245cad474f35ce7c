import type { Sandbox } from "@/api/client";

/** What a sandbox is for. */
export function titleOf(sandbox: Sandbox): string | null {
  return sandbox.task_title || null;
}

export function isAlive(sandbox: Sandbox): boolean {
  return sandbox.ended_at === null;
}

/** How many there are in each state. */
export function countStates(sandboxes: readonly Sandbox[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { status } of sandboxes) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
}

/** Those whose id or title has what is looked for. */
export function matching(sandboxes: readonly Sandbox[], query: string): readonly Sandbox[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return sandboxes;
  return sandboxes.filter((each) => `${each.id}\n${titleOf(each) ?? ""}`.toLowerCase().includes(wanted));
}

/** Two at the most: a third one takes the place of the older choice. */
export function choose(chosen: readonly string[], id: string): readonly string[] {
  return chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id].slice(-2);
}
