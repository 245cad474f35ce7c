const WORDS = new Map(
  Object.entries({
    verified: "the checks passed",
    no_progress: "nothing changed any more",
    max_iterations: "as many iterations as it may have",
    max_turns: "as many turns as it may have",
    budget: "the budget was spent",
    time: "the time was up",
    errors: "too many errors",
    error: "an error",
    interrupted: "a person interrupted it",
    end_turn: "the agent had said all",
    max_tokens: "the longest answer that the model gives",
    refusal: "the model refused",
  }),
);

/** Why a run ended, in words where there are some. */
export function stopReason(reason: string): string {
  return WORDS.get(reason) ?? reason;
}
