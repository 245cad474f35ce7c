/** How times are shown: stored in this browser, for all tabs. */

export interface Times {
  /** Absolute instead of relative times. */
  readonly isExact: boolean;
  readonly isUtc: boolean;
}

const KEY = "times";
/** Elements whose clicks do not toggle the times in them. */
const CONTROLS = "a, button, label, summary, [role=button], [role=link], [role=option], [role=menuitem], [role=tab]";

let times = readTimes(kept());
const watchers = new Set<() => void>();

export function currentTimes(): Times {
  return times;
}

export function watchTimes(changed: () => void): () => void {
  watchers.add(changed);
  return () => watchers.delete(changed);
}

export function chooseTimes(fields: Partial<Times>): void {
  show({ ...times, ...fields });
  try {
    localStorage.setItem(KEY, writeTimes(times));
  } catch {
    return;
  }
}

/** Toggle between relative and absolute times on a click, and apply the choice of other tabs. */
export function syncTimes(): void {
  document.addEventListener("click", ({ target, defaultPrevented }) => {
    const time = target instanceof Element ? target.closest("time[data-turns]") : null;
    if (time === null || defaultPrevented || time.closest(CONTROLS) !== null || isSelecting()) return;
    chooseTimes({ isExact: !times.isExact });
  });
  addEventListener("storage", ({ key, newValue }) => {
    if (key === KEY) show(readTimes(newValue));
  });
}

export function readTimes(text: string | null): Times {
  const words = (text ?? "").split(" ");
  return { isExact: words.includes("exact"), isUtc: words.includes("utc") };
}

export function writeTimes({ isExact, isUtc }: Times): string {
  return `${isExact ? "exact" : "relative"} ${isUtc ? "utc" : "local"}`;
}

function kept(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function show(next: Times): void {
  times = next;
  for (const each of watchers) each();
}

/** Selecting a time to copy it also ends with a click. */
function isSelecting(): boolean {
  return getSelection()?.isCollapsed === false;
}
