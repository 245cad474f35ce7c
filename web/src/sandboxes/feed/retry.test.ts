import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "@/api/client";
import type { ConnectionState } from "@/stream/connection";
import { retryUntilDone } from "./retry";

class Link {
  state: ConnectionState = "open";
  watchers = new Set<() => void>();
  watch = (watcher: () => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };
  become(state: ConnectionState) {
    this.state = state;
    for (const watcher of this.watchers) watcher();
  }
}

/** Return a function that fails with each of these errors in turn and then succeeds. */
function trying(...failures: Error[]) {
  const link = new Link();
  const controller = new AbortController();
  const troubles: unknown[] = [];
  const act = vi.fn(async () => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
  });
  const over = retryUntilDone(act, { connection: link, signal: controller.signal, onTrouble: (error) => troubles.push(error) });
  return { link, controller, troubles, act, over };
}

const away = new TypeError("Failed to fetch");

describe("retryUntilDone", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("retries after a pause, and reports recovery", async () => {
    const broken = new ApiError(503, "not now");
    const { act, over, troubles } = trying(away, broken);
    await vi.advanceTimersByTimeAsync(2_000);
    await over;
    expect(act).toHaveBeenCalledTimes(3);
    expect(troubles).toEqual([away, broken, null]);
  });

  it("waits longer each time, up to a limit", async () => {
    const { act } = trying(...Array.from({ length: 100 }, () => away));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(act.mock.calls.length).toBeLessThan(16);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(act.mock.calls.length).toBeGreaterThan(8);
  });

  it("retries at once when the connection is back", async () => {
    const { act, link, over, troubles } = trying(away);
    await vi.advanceTimersByTimeAsync(0);
    link.become("lost");
    await vi.advanceTimersByTimeAsync(0);
    expect(act).toHaveBeenCalledTimes(1);
    link.become("open");
    await over;
    expect(act).toHaveBeenCalledTimes(2);
    expect(troubles).toEqual([away, null]);
    expect(link.watchers.size).toBe(0);
  });

  it("does not retry rejected requests", async () => {
    const refused = new ApiError(403, "no");
    const { act, over, troubles } = trying(refused);
    await over;
    expect(act).toHaveBeenCalledTimes(1);
    expect(troubles).toEqual([refused]);
  });

  it("stops when aborted", async () => {
    const { act, controller, link, over } = trying(away);
    await vi.advanceTimersByTimeAsync(0);
    controller.abort();
    await over;
    expect(act).toHaveBeenCalledTimes(1);
    expect(link.watchers.size).toBe(0);
  });
});
