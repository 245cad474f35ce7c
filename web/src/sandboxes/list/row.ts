import type { Sandbox } from "@/api/client";

/** Return the title of a sandbox's task, or "Spec" for a sandbox that serves one. */
export function titleOf(sandbox: Sandbox): string | null {
  return sandbox.task_title || (sandbox.spec_id ? "Spec" : null);
}

export function isAlive(sandbox: Sandbox): boolean {
  return sandbox.ended_at === null;
}

/** Count the sandboxes in each status. */
export function countStates(sandboxes: readonly Sandbox[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { status } of sandboxes) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
}

/** Return the sandboxes whose id or title contains the query. */
export function matching(sandboxes: readonly Sandbox[], query: string): readonly Sandbox[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return sandboxes;
  return sandboxes.filter((each) => `${each.id}\n${titleOf(each) ?? ""}`.toLowerCase().includes(wanted));
}

/** Toggle a selection of at most two: a third one replaces the oldest. */
export function choose(chosen: readonly string[], id: string): readonly string[] {
  return chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id].slice(-2);
}
