import { expect, it } from "vitest";
import type { Overview } from "./overview";
import { isScripted } from "./model-notice";

const running = (model: string) => ({ versions: { model } as Overview["versions"] });

it("warns only where agents use the scripted model", () => {
  expect([isScripted(running("scripted")), isScripted(running("claude-opus-4")), isScripted(undefined)]).toEqual([true, false, false]);
});
