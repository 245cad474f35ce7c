import { createContext, useContext } from "react";

/** State that the cards of one timeline share. */
export interface TimelineState {
  /** Incremented when a part is expanded or collapsed. */
  revision: number;
  sandboxId: string;
  /** The number of the last event to show; null for all. */
  upTo: number | null;
  /** The event that the address links to. */
  highlight: number | null;
  /** The first event of the item that has the keyboard focus. */
  current: number | null;
  isOpen(key: string, byDefault: boolean): boolean;
  setOpen(key: string, open: boolean): void;
}

export const TimelineContext = createContext<TimelineState | null>(null);

export function useTimelineState(): TimelineState {
  const state = useContext(TimelineContext);
  if (state === null) throw new Error("useTimelineState requires a TimelineContext");
  return state;
}

/** Use whether a part is expanded; it is remembered while the part is scrolled out of view. */
export function useOpen(key: string, byDefault = false): [boolean, (open: boolean) => void] {
  const state = useTimelineState();
  return [state.isOpen(key, byDefault), (open) => state.setOpen(key, open)];
}
