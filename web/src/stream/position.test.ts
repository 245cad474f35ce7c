import { expect, it } from "vitest";
import { later } from "./position";

it("compares positions part by part", () => {
  expect(later("9-1-0", "10-0-0")).toBe("10-0-0");
  expect(later("10-2-0", "10-1-7")).toBe("10-2-0");
  expect(later("10-2-3", "10-2-12")).toBe("10-2-12");
  expect(later("9007199254740993-0-0", "9007199254740992-0-0")).toBe("9007199254740993-0-0");
  expect(later("1-1-1", "1-1-1")).toBe("1-1-1");
});
