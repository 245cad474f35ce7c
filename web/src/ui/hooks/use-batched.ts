import { useCallback, useEffect, useRef } from "react";

/** Return a function that runs the action once for all calls within this time. */
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
