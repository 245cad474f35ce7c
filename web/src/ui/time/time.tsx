import { useSyncExternalStore } from "react";
import { serverNow } from "./server-clock";
import { absolute, ago, clock, short } from "./format";
import { currentTimes, type Times, watchTimes } from "./time-preference";

let now = serverNow();
let timer: ReturnType<typeof setInterval> | undefined;
const watchers = new Set<() => void>();

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  timer ??= setInterval(() => {
    now = serverNow();
    for (const each of watchers) each();
  }, 1000);
  return () => {
    watchers.delete(watcher);
    if (watchers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Return the current time, updated each second by one timer for the whole page. */
export function useNow(): number {
  return useSyncExternalStore(watch, () => {
    if (timer === undefined) now = Math.floor(serverNow() / 1000) * 1000;
    return now;
  });
}

/** Return how times are shown. */
export function useTimes(): Times {
  return useSyncExternalStore(watchTimes, currentTimes);
}

/** A relative time with the absolute one as its tooltip, or the reverse. A click toggles all times. */
export function Ago({ at }: { at: string }) {
  const { isExact, isUtc } = useTimes();
  return (
    <time dateTime={at} title={absolute(at, isUtc)} data-turns>
      {isExact ? short(at, { isUtc, now: serverNow() }) : <Since at={at} />}
    </time>
  );
}

/** A relative time. */
export function Since({ at }: { at: string }) {
  return ago(at, useNow());
}

/** The date and time of day. */
export function Exact({ at }: { at: string }) {
  const { isUtc } = useTimes();
  return <time dateTime={at}>{absolute(at, isUtc)}</time>;
}

/** The time of day, with the date as its tooltip. */
export function Clock({ at, className }: { at: string; className?: string }) {
  const { isUtc } = useTimes();
  return (
    <time dateTime={at} title={absolute(at, isUtc)} className={className}>
      {clock(at, isUtc)}
    </time>
  );
}
