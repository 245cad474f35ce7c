import { expect, it } from "vitest";
import { neighbour } from "./card-navigation";

const BOARD = [["a1", "a2", "a3"], [], ["c1"], ["d1", "d2"]];

it("starts with the first card", () => {
  expect(neighbour(BOARD, null, "down")).toBe("a1");
  expect(neighbour(BOARD, "gone", "right")).toBe("a1");
  expect(neighbour([[], []], null, "down")).toBeUndefined();
});

it("moves up and down within a column and stops at its ends", () => {
  expect(neighbour(BOARD, "a1", "down")).toBe("a2");
  expect(neighbour(BOARD, "a3", "down")).toBe("a3");
  expect(neighbour(BOARD, "a2", "up")).toBe("a1");
  expect(neighbour(BOARD, "a1", "up")).toBe("a1");
});

it("moves sideways past empty columns to the nearest row", () => {
  expect(neighbour(BOARD, "a3", "right")).toBe("c1");
  expect(neighbour(BOARD, "d2", "left")).toBe("c1");
  expect(neighbour(BOARD, "c1", "left")).toBe("a1");
  expect(neighbour(BOARD, "d1", "right")).toBe("d1");
});
