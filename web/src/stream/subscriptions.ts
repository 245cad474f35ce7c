/** What a subscription asks for. Absent means any. */
export interface Topic {
  types?: readonly string[];
  sandbox_id?: string;
  project_id?: string;
}

/** One change, as `docs/stream.md` describes it. */
export interface Item<Data = unknown> {
  id: string;
  type: string;
  seq: number | null;
  timestamp: string;
  project_id: string;
  sandbox_id: string | null;
  data: Data;
}

export interface Listener {
  /** Changes in their order, as many as came together. */
  onItems(items: readonly Item[]): void;
  /** One that began at no known place begins here, and is told everything from now on; called once. */
  onBegin?(): void;
  /** Something could not be told: look at everything once. */
  onResync?(): void;
}

export interface Subscription extends Topic {
  name: string;
  listener: Listener;
  /** Everything up to here has been heard; after a loss it goes on behind it. */
  since: string | null;
  /** Whether all that lies between `since` and now has been told. */
  isLive: boolean;
}

export function wants(topic: Topic, item: Item): boolean {
  if (topic.sandbox_id !== undefined && topic.sandbox_id !== item.sandbox_id) return false;
  if (topic.project_id !== undefined && topic.project_id !== item.project_id) return false;
  return topic.types === undefined || topic.types.some((type) => covers(type, item.type));
}

function covers(pattern: string, type: string): boolean {
  return pattern.endsWith(".*") ? type.startsWith(pattern.slice(0, -1)) : pattern === type;
}

export function request(subscription: Subscription): string {
  const { name, types, sandbox_id, project_id, since } = subscription;
  return JSON.stringify({ op: "subscribe", id: name, types, sandbox_id, project_id, since: since ?? undefined });
}
