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

describe("loadAgain", () => {
  it("follows what is being loaded by one more look, however often it is overtaken", async () => {
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

  it("loads at once what is shown, and what is not when it is shown", async () => {
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

describe("followUnderWay", () => {
  it("leaves alone what is not being loaded", async () => {
    const { queries, queryFn, observer, answer } = asked();
    observer.subscribe(() => undefined);
    await answer("first");
    refetchWhenSettled(queries, ["things"]);
    expect(queryFn).toHaveBeenCalledTimes(1);
    expect(observer.getCurrentResult().isStale).toBe(false);
  });
});
