import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { throttle } from "./throttle";

describe("throttle", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("runs the first call at once and merges the rest of a burst", () => {
    const call = vi.fn();
    const knock = throttle(call, 100);
    for (let times = 0; times < 50; times += 1) knock();
    expect(call).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(100);
    expect(call).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(1000);
    expect(call).toHaveBeenCalledTimes(2);
  });

  it("runs at once after a quiet period, and never after being stopped", () => {
    const call = vi.fn();
    const knock = throttle(call, 100);
    knock();
    vi.advanceTimersByTime(500);
    knock();
    expect(call).toHaveBeenCalledTimes(2);
    knock();
    knock.stop();
    vi.advanceTimersByTime(500);
    expect(call).toHaveBeenCalledTimes(2);
  });
});
