import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { throttle } from "./throttle";

describe("pace", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("passes the first call on at once and the rest of a burst together", () => {
    const call = vi.fn();
    const knock = throttle(call, 100);
    for (let times = 0; times < 50; times += 1) knock();
    expect(call).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(100);
    expect(call).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(1000);
    expect(call).toHaveBeenCalledTimes(2);
  });

  it("is quick again after it was quiet, and silent once it is stopped", () => {
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
