import { createContext, useContext } from "react";

/** What the cards of one timeline share. */
export interface TimelineState {
  /** Grows when a part is opened or closed. */
  revision: number;
  sandboxId: string;
  /** The number of the last event that is shown; null when all are. */
  upTo: number | null;
  /** The event that the address points to. */
  highlight: number | null;
  /** The first event of the item that the keyboard is at. */
  current: number | null;
  isOpen(key: string, byDefault: boolean): boolean;
  setOpen(key: string, open: boolean): void;
}

export const TimelineContext = createContext<TimelineState | null>(null);

export function useTimelineState(): TimelineState {
  const state = useContext(TimelineContext);
  if (state === null) throw new Error("there is no timeline above");
  return state;
}

/** Whether a part is open; it is remembered while the part is scrolled out of sight. */
export function useOpen(key: string, byDefault = false): [boolean, (open: boolean) => void] {
  const state = useTimelineState();
  return [state.isOpen(key, byDefault), (open) => state.setOpen(key, open)];
}
