const WORDS = new Map(
  Object.entries({
    verified: "the checks passed",
    no_progress: "no further progress",
    max_iterations: "iteration limit reached",
    max_turns: "turn limit reached",
    budget: "budget exhausted",
    time: "time limit reached",
    errors: "too many errors",
    error: "error",
    interrupted: "interrupted by a person",
    end_turn: "the agent ended its turn",
    max_tokens: "output token limit reached",
    refusal: "the model refused",
  }),
);

/** Return a readable stop reason. */
export function stopReason(reason: string): string {
  return WORDS.get(reason) ?? reason;
}
