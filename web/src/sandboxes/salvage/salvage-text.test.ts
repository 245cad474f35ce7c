import { expect, it } from "vitest";
import { isUnsaved, salvageLabel, salvageWords, type Salvage } from "./salvage-text";

const NOW = Date.parse("2026-01-01T12:00:00Z");
const salvage = (more: Partial<Salvage>): Salvage => ({
  state: "pending",
  attempts: 2,
  last_error: "the gateway does not answer",
  next_attempt_at: "2026-01-01T12:00:30Z",
  wait_until: "2026-01-01T12:03:00Z",
  disk_bytes: 3_000_000,
  created_at: "2026-01-01T11:59:00Z",
  ended_at: null,
  ...more,
});

it("says that work is not saved, why, and what happens next", () => {
  expect(salvageWords(salvage({}), NOW)).toEqual([
    "Its uncommitted work is not saved yet and is kept on its disk (3.0 MB); saving was tried 2 times: the gateway does not answer.",
    "Saving is tried again in 30s.",
    "The next attempt waits for it for another 3m at most.",
  ]);
  expect(salvageWords(salvage({ state: "kept" }), NOW).at(-1)).toBe("The next attempt no longer waits for it.");
});

it("tells what is kept from what is saved or removed", () => {
  expect([isUnsaved(null), isUnsaved(salvage({})), isUnsaved(salvage({ state: "saved" }))]).toEqual([false, true, false]);
  expect(salvageLabel(salvage({ state: "kept" }))).toBe("Work not saved yet");
  expect(salvageLabel(salvage({ state: "dropped" }))).toBe("Unsaved work removed");
  expect([salvageLabel(null), salvageLabel(salvage({ state: "saved" }))]).toEqual([null, null]);
  expect(salvageWords(salvage({ state: "dropped", attempts: 1, last_error: null }), NOW)).toEqual([
    "Its uncommitted work was not saved and has been removed (tried 1 time).",
  ]);
});
