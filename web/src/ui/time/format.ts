import { currentTimes } from "./time-preference";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Format a duration in at most two units: 8s, 3m 20s, 2h 5m, 4d 1h. */
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

/** Format how long ago in one unit: just now, 8s ago, 3m ago, 2h ago, 4d ago. */
export function ago(moment: string | number, now: number): string {
  const seconds = Math.floor((now - new Date(moment).getTime()) / 1000);
  if (seconds < 3) return "just now";
  if (seconds < MINUTE) return `${seconds}s ago`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)}m ago`;
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)}h ago`;
  return `${Math.floor(seconds / DAY)}d ago`;
}

const DATE = { month: "short", day: "numeric" } as const;
const TIME = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;

// Created once: `toLocaleString` creates one per call, which is slow for long lists.
const whole = formats({ ...DATE, year: "numeric", ...TIME });
const days = formats({ ...DATE, ...TIME });
const hours = formats(TIME);

function formats(options: Intl.DateTimeFormatOptions): Record<"local" | "utc", Intl.DateTimeFormat> {
  return { local: new Intl.DateTimeFormat(undefined, options), utc: new Intl.DateTimeFormat(undefined, { ...options, timeZone: "UTC" }) };
}

/** Format the date and time of day, in the chosen time zone. */
export function absolute(moment: string | number, isUtc = currentTimes().isUtc): string {
  return isUtc ? `${whole.utc.format(new Date(moment))} UTC` : whole.local.format(new Date(moment));
}

/** The same without the year, if it is the current one. */
export function short(moment: string | number, { isUtc, now }: { isUtc: boolean; now: number }): string {
  const [at, today] = [new Date(moment), new Date(now)];
  if (isUtc) return at.getUTCFullYear() === today.getUTCFullYear() ? `${days.utc.format(at)} UTC` : absolute(moment, true);
  return at.getFullYear() === today.getFullYear() ? days.local.format(at) : absolute(moment, false);
}

/** Format the time of day, in the chosen time zone. */
export function clock(moment: string | number, isUtc = currentTimes().isUtc): string {
  return hours[isUtc ? "utc" : "local"].format(new Date(moment));
}
