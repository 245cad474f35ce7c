import { useEffect, useState } from "react";

const PAUSE_MS = 400;

/** Use the replay position. The address follows with a delay: browsers reject changes on every frame. */
export function useReplay(at: number | undefined, write: (at: number | undefined) => void): [number | null, (at: number | null) => void] {
  const [upTo, setUpTo] = useState<number | null>(at ?? null);
  useEffect(() => {
    if (upTo === (at ?? null)) return;
    const timer = setTimeout(() => write(upTo ?? undefined), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [upTo, at, write]);
  return [upTo, setUpTo];
}
