/** Faster than this nobody reads; what comes in between is drawn together. */
export const BEAT_MS = 100;

/**
 * Calls that come in bursts, passed on at once when it was quiet and then once per beat; the last is never lost.
 * `stop` forgets what is still to be passed on.
 */
export function throttle(call: () => void, beat: number = BEAT_MS): { (): void; stop(): void } {
  let last = -Infinity;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const pass = () => {
    timer = undefined;
    last = performance.now();
    call();
  };
  const knock = () => {
    if (timer !== undefined) return;
    const rest = last + beat - performance.now();
    if (rest <= 0) pass();
    else timer = setTimeout(pass, rest);
  };
  knock.stop = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  return knock;
}
