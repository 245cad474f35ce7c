import { ApiError } from "@/api/client";
import type { Connection } from "@/stream/connection";

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;

export interface RetryOptions {
  connection: Pick<Connection, "state" | "watch">;
  /** Stops retrying. */
  signal: AbortSignal;
  /** Called with the error that prevents it, and with null when it is done. */
  onTrouble: (error: unknown) => void;
}

/**
 * Retry until it succeeds: with a growing pause, and at once when the connection is back. Rejected requests are not
 * retried.
 */
export async function retryUntilDone(act: () => Promise<void>, { connection, signal, onTrouble }: RetryOptions): Promise<void> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      await act();
      if (!signal.aborted) onTrouble(null);
      return;
    } catch (error) {
      if (signal.aborted) return;
      onTrouble(error);
      if (isRefused(error)) return;
    }
    const longest = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
    await pause(longest * (0.5 + Math.random() / 2), connection, signal);
  }
}

/** Whether a retry would be rejected in the same way. */
export function isRefused(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status < 500;
}

function pause(ms: number, connection: RetryOptions["connection"], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      unwatch();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    const unwatch = connection.watch(() => {
      if (connection.state === "open") end();
    });
    signal.addEventListener("abort", end);
  });
}
