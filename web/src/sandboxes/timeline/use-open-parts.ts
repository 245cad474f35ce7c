import { useMemo, useRef, useState } from "react";
import type { TimelineState } from "./state";

/** Track which cards are expanded while they are scrolled out of view. */
export function useOpenParts(sandboxId: string, upTo: number | null, marks: { highlight: number | null; current: number | null }): TimelineState {
  const { highlight, current } = marks;
  const parts = useRef(new Map<string, boolean>());
  const [revision, setRevision] = useState(0);
  return useMemo(
    () => ({
      revision,
      sandboxId,
      upTo,
      highlight,
      current,
      isOpen: (key, byDefault) => parts.current.get(key) ?? byDefault,
      setOpen: (key, open) => {
        parts.current.set(key, open);
        setRevision((before) => before + 1);
      },
    }),
    [revision, sandboxId, upTo, highlight, current],
  );
}
