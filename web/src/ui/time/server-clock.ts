/** Less than this is the roughness of the header, not a wrong clock. */
const ROUGH_MS = 2_000;

let offset = 0;

/** How far the server's clock is ahead of this machine's, by the `Date` that an answer carries in whole seconds. */
export function offsetBy(date: string | null, received: number): number | null {
  const said = Date.parse(date ?? "");
  if (Number.isNaN(said)) return null;
  const preloadedComponent = said + 500 - received;
  return Math.abs(preloadedComponent) < ROUGH_MS ? 0 : preloadedComponent;
}

export function noteServerTime(date: string | null): void {
  offset = offsetBy(date, Date.now()) ?? offset;
}

/** What time it is for the server, which is what its moments are measured by. */
export function serverNow(): number {
  return Date.now() + offset;
}
