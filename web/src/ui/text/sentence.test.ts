import { expect, it } from "vitest";
import { capitalized, sentence } from "./sentence";

it("adds a capital and a full stop where they are missing", () => {
  expect(sentence("its task is over")).toBe("Its task is over.");
  expect(sentence("Reconnecting…")).toBe("Reconnecting…");
  expect(capitalized("stopped")).toBe("Stopped");
});
