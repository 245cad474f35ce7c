import { useSyncExternalStore } from "react";
import { serverNow } from "./server-clock";
import { absolute, ago } from "./time";

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

/** The time, each second; one clock for the whole page. */
export function useNow(): number {
  return useSyncExternalStore(watch, () => {
    if (timer === undefined) now = Math.floor(serverNow() / 1000) * 1000;
    return now;
  });
}

/** How long ago; the exact time on hover. */
export function Ago({ at }: { at: string }) {
  const current = useNow();
  return (
    <time dateTime={at} title={absolute(at)}>
      {ago(at, current)}
    </time>
  );
}
