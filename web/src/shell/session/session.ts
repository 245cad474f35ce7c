import { queryOptions, type QueryClient } from "@tanstack/react-query";
import { ApiError, errorMessage } from "@/api/client";
import { notify } from "@/ui/notices";
import { sentence } from "@/ui/text/sentence";

export interface Me {
  id: string;
  email: string;
  name: string;
  role: "admin" | "member";
  /** The stream position when this was read. */
  position: string;
}

/** The signed-in user; null if there is none. */
export const meQuery = queryOptions({
  queryKey: ["me"],
  staleTime: Infinity,
  queryFn: async (): Promise<Me | null> => {
    const response = await fetch("/api/v1/auth/me");
    if (response.status === 401) return null;
    if (!response.ok) throw new ApiError(response.status, `the server responded with status ${response.status}`);
    return response.json();
  },
});

/** Exchange an API key for a session of this browser. */
export async function signInWithKey(key: string): Promise<void> {
  const response = await fetch("/api/v1/auth/session", {
    method: "POST",
    headers: { Authorization: `Bearer ${key}` },
  });
  if (response.ok) return;
  const problem: { detail?: string } = await response.json().catch(() => ({}));
  throw new ApiError(response.status, problem.detail ?? "the API key was not accepted");
}

/** Drafts and unsent messages in this browser's storage. */
const WRITTEN = /^(draft|unsent):/;

/**
 * End the session and remove drafts and unsent messages, so that nothing is left for the next person at this browser.
 * Where the server cannot be reached the session stays, and a notification says so.
 */
export async function signOut(): Promise<void> {
  try {
    await fetch("/api/v1/auth/session", { method: "DELETE" });
  } catch (error) {
    notify(sentence(`You are still signed in: ${errorMessage(error)}`), { isBad: true });
    return;
  }
  for (const key of Object.keys(localStorage)) if (WRITTEN.test(key)) localStorage.removeItem(key);
  location.assign("/");
}

/** Forget everything that was loaded, after the session has ended. */
export function clearSession(queries: QueryClient): void {
  queries.setQueryData(meQuery.queryKey, null);
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== meQuery.queryKey[0] });
}
