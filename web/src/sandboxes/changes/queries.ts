import { fetchText } from "@/api/client";
import type { Change } from "./changes";

export interface TextQuery {
  queryKey: readonly unknown[];
  queryFn: (context: { signal: AbortSignal }) => Promise<string>;
  staleTime: number;
  gcTime: number;
}

/** These texts never change, but they may be large. */
const PAST = { staleTime: Infinity, gcTime: 60_000 };

export const changeDiffQuery = (sandboxId: string, change: Change): TextQuery => ({
  queryKey: ["diff", sandboxId, change.eventId],
  queryFn: ({ signal }) => diffOf(sandboxId, change, signal),
  ...PAST,
});

/** The diff of the whole session. `edits` is the number of edits when it was requested. */
export const sessionDiffQuery = (sandboxId: string, edits: number, isOver: boolean): TextQuery => ({
  queryKey: ["session-diff", sandboxId, edits, isOver],
  queryFn: ({ signal }) => fetchText(`/api/v1/sandboxes/${encodeURIComponent(sandboxId)}/diff`, signal),
  ...PAST,
});

/** Several edits in order, concatenated. */
export const editsQuery = (sandboxId: string, changes: readonly Change[]): TextQuery => ({
  queryKey: ["edits", sandboxId, changes[0]?.seq ?? 0, changes.at(-1)?.seq ?? 0, changes.length],
  queryFn: async ({ signal }) => {
    const parts: string[] = [];
    for (const change of changes) parts.push(await diffOf(sandboxId, change, signal));
    return parts.join("");
  },
  ...PAST,
});

function diffOf(sandboxId: string, change: Change, signal: AbortSignal): Promise<string> {
  if (change.diff !== null) return Promise.resolve(change.diff);
  const event = encodeURIComponent(change.eventId);
  return fetchText(`/api/v1/sandboxes/${encodeURIComponent(sandboxId)}/events/${event}/diff`, signal);
}
