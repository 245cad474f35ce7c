/** The shortest time between two redraws. */
export const BEAT_MS = 100;

/**
 * Throttle calls: the first runs at once, further ones once per interval, and the last is never lost. `stop` cancels
 * the pending one.
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
