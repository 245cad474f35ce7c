import { expect, it } from "vitest";
import { isUnsaved, salvageLabel, salvageSentences, type Salvage } from "./salvage-text";

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

it("reports unsaved work, the reason and the next step", () => {
  expect(salvageSentences(salvage({}), NOW)).toEqual([
    "Uncommitted work is not saved yet and remains on the sandbox's disk (3.0 MB) after 2 tries to save it: the gateway does not answer.",
    "Saving is retried in 30s.",
    "The next attempt at the task waits for it for at most another 3m.",
  ]);
  expect(salvageSentences(salvage({ state: "kept" }), NOW).at(-1)).toBe("The next attempt at the task no longer waits for it.");
});

it("distinguishes kept, saved and discarded work", () => {
  expect([isUnsaved(null), isUnsaved(salvage({})), isUnsaved(salvage({ state: "saved" }))]).toEqual([false, true, false]);
  expect(salvageLabel(salvage({ state: "kept" }))).toBe("Work not saved yet");
  expect(salvageLabel(salvage({ state: "dropped" }))).toBe("Unsaved work discarded");
  expect([salvageLabel(null), salvageLabel(salvage({ state: "saved" }))]).toEqual([null, null]);
  expect(salvageSentences(salvage({ state: "dropped", attempts: 1, last_error: null }), NOW)).toEqual([
    "Uncommitted work could not be saved and was discarded after 1 try.",
  ]);
});
