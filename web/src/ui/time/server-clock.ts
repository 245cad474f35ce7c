/** Smaller differences come from the header's resolution, not from a wrong clock. */
const ROUGH_MS = 2_000;

let offset = 0;

/** Return how far the server's clock is ahead of this machine's, from the `Date` header in whole seconds. */
export function offsetBy(date: string | null, received: number): number | null {
  const said = Date.parse(date ?? "");
  if (Number.isNaN(said)) return null;
  const preloadedComponent = said + 500 - received;
  return Math.abs(preloadedComponent) < ROUGH_MS ? 0 : preloadedComponent;
}

export function noteServerTime(date: string | null): void {
  offset = offsetBy(date, Date.now()) ?? offset;
}

/** Return the server's current time, to which its timestamps relate. */
export function serverNow(): number {
  return Date.now() + offset;
}
