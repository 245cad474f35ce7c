const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A length of time in two units at the most: 8s, 3m 20s, 2h 5m, 4d 1h. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds / 1000);
  if (seconds < 1) return `${Math.round(seconds * 1000)}ms`;
  if (seconds < 10) return `${(Math.floor(seconds * 10) / 10).toFixed(1).replace(/\.0$/, "")}s`;
  if (seconds < MINUTE) return `${Math.floor(seconds)}s`;
  if (seconds < HOUR) return pair(seconds, MINUTE, "m", 1, "s");
  if (seconds < DAY) return pair(seconds, HOUR, "h", MINUTE, "m");
  return pair(seconds, DAY, "d", HOUR, "h");
}

function pair(seconds: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const whole = Math.floor(seconds / large);
  const rest = Math.floor((seconds % large) / small);
  return rest === 0 ? `${whole}${largeUnit}` : `${whole}${largeUnit} ${rest}${smallUnit}`;
}

/** How long ago, in one unit: just now, 8s ago, 3m ago, 2h ago, 4d ago. */
export function ago(moment: string | number, now: number): string {
  const seconds = Math.floor((now - new Date(moment).getTime()) / 1000);
  if (seconds < 3) return "just now";
  if (seconds < MINUTE) return `${seconds}s ago`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)}m ago`;
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)}h ago`;
  return `${Math.floor(seconds / DAY)}d ago`;
}

// Made once: `toLocaleString` makes one with each call, which a list of rows that tick can feel.
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const hours = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

export function absolute(moment: string | number): string {
  return whole.format(new Date(moment));
}

export function clock(moment: string | number): string {
  return hours.format(new Date(moment));
}
