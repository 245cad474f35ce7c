/** The filter of a subscription. A missing field matches anything. */
export interface Topic {
  types?: readonly string[];
  sandbox_id?: string;
  project_id?: string;
}

/** One change, as described in `docs/stream.md`. */
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
  /** Called with changes in order, as many as arrived together. */
  onItems(items: readonly Item[]): void;
  /** Called once, when a subscription without a position starts: it receives every change from here on. */
  onBegin?(): void;
  /** Called when changes may have been missed: reload everything once. */
  onResync?(): void;
}

export interface Subscription extends Topic {
  name: string;
  listener: Listener;
  /** Everything up to this position was received; a reconnect resumes after it. */
  since: string | null;
  /** Whether everything between `since` and now was received. */
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
