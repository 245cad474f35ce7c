/** What the list does when it changes. One thing at a time, and only what happens here moves it on. */
export type Scroll =
  /** Nothing was shown yet: the end comes first. */
  | { intent: "open" }
  /** At the end, and it stays there. */
  | { intent: "follow" }
  /** The reader is elsewhere; `seen` is the last event that was there when they left the end. */
  | { intent: "hold"; seen: number }
  /** On the way to an event, which may have to be loaded first; `seen` as above, 0 when nothing was shown before. */
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

/** How near the end counts as at the end. */
export const END_PX = 64;
