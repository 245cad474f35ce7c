import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { describe, expect, it, vi } from "vitest";
import { refetchWhenSettled, invalidate } from "./invalidate";

const KEY = ["things", 1];

/** A query whose results the test provides. */
function asked() {
  const queries = new QueryClient();
  const answers: ((value: string) => void)[] = [];
  const queryFn = vi.fn(() => new Promise<string>((resolve) => answers.push(resolve)));
  const observer = new QueryObserver(queries, { queryKey: KEY, queryFn, staleTime: 60_000 });
  const answer = async (value: string) => {
    answers.shift()?.(value);
    await new Promise((done) => setTimeout(done));
  };
  return { queries, queryFn, observer, answer };
}

describe("invalidate", () => {
  it("refetches once after a running request, however many changes arrive", async () => {
    const { queries, queryFn, observer, answer } = asked();
    observer.subscribe(() => undefined);
    for (let changes = 0; changes < 3; changes += 1) invalidate(queries, ["things"]);
    expect(queryFn).toHaveBeenCalledTimes(1);

    await answer("read before the changes");
    expect(queryFn).toHaveBeenCalledTimes(2);
    invalidate(queries, KEY);
    await answer("read before the last change");
    expect(observer.getCurrentResult().data).toBe("read before the last change");
    await answer("as it is");

    expect(queryFn).toHaveBeenCalledTimes(3);
    expect(observer.getCurrentResult()).toMatchObject({ data: "as it is", isStale: false, fetchStatus: "idle" });
  });

  it("refetches visible queries at once and others when shown", async () => {
    const { queries, queryFn, observer, answer } = asked();
    const leave = observer.subscribe(() => undefined);
    await answer("first");
    invalidate(queries, ["things"]);
    expect(queryFn).toHaveBeenCalledTimes(2);
    await answer("second");
    leave();

    invalidate(queries, ["things"]);
    expect(queryFn).toHaveBeenCalledTimes(2);
    observer.subscribe(() => undefined);
    expect(queryFn).toHaveBeenCalledTimes(3);
  });
});

describe("refetchWhenSettled", () => {
  it("ignores idle queries", async () => {
    const { queries, queryFn, observer, answer } = asked();
    observer.subscribe(() => undefined);
    await answer("first");
    refetchWhenSettled(queries, ["things"]);
    expect(queryFn).toHaveBeenCalledTimes(1);
    expect(observer.getCurrentResult().isStale).toBe(false);
  });
});
