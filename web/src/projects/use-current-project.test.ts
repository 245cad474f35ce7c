import { expect, it } from "vitest";
import { currentOf } from "./use-current-project";

const [a, b] = [{ id: "a" }, { id: "b" }];

it("is the project that the page is about", () => {
  expect(currentOf([a, b], "b")).toBe("b");
  expect([currentOf([a, b], "deleted"), currentOf(undefined, "b")]).toEqual([undefined, undefined]);
});

it("is the only project, where the page is about none", () => {
  expect(currentOf([a], undefined)).toBe("a");
  expect([currentOf([], undefined), currentOf([a, b], undefined)]).toEqual([undefined, undefined]);
});
