import { useCallback, useEffect, useRef } from "react";

/** To be called as often as there is a reason: what it stands for is done once, this long after the first of them. */
export function useBatched(act: () => void, restMs: number): () => void {
  const newest = useRef(act);
  useEffect(() => {
    newest.current = act;
  });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const forget = useCallback(() => {
    clearTimeout(timer.current);
    timer.current = undefined;
  }, []);
  useEffect(() => forget, [forget]);
  return useCallback(() => {
    if (timer.current !== undefined) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      newest.current();
    }, restMs);
  }, [restMs]);
}
