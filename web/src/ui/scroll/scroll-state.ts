/** The scroll state of a list. Only the events below change it. */
export type Scroll =
  /** Nothing was shown yet: start at the end. */
  | { intent: "open" }
  /** At the end, following it. */
  | { intent: "follow" }
  /** Elsewhere; `seen` is the last event that was there when the reader left the end. */
  | { intent: "hold"; seen: number }
  /** On the way to an event, which may still be loading; `seen` as above, 0 if nothing was shown before. */
  | { intent: "jump"; seq: number; seen: number };

export type Happening =
  | { type: "shown"; last: number }
  | { type: "scrolled"; atEnd: boolean; last: number }
  | { type: "asked"; seq: number; last: number }
  | { type: "arrived"; atEnd: boolean; last: number }
  | { type: "latest" };

export function scroll(state: Scroll, happening: Happening): Scroll {
  switch (happening.type) {
    case "shown":
      return state.intent === "open" ? { intent: "follow" } : state;
    case "scrolled":
      if (state.intent === "open" || state.intent === "jump") return state;
      if (happening.atEnd) return state.intent === "follow" ? state : { intent: "follow" };
      return state.intent === "hold" ? state : { intent: "hold", seen: happening.last };
    case "asked":
      return { intent: "jump", seq: happening.seq, seen: "seen" in state ? state.seen : happening.last };
    case "arrived":
      if (state.intent !== "jump") return state;
      return happening.atEnd ? { intent: "follow" } : { intent: "hold", seen: state.seen || happening.last };
    case "latest":
      return { intent: "follow" };
  }
}

/** The distance from the end that counts as the end. */
export const END_PX = 64;
