import { lazy, useEffect, useState, type ReactNode } from "react";
import { useConnectionState } from "@/stream/stream-provider";
import { LoadFailure, reloadOnce } from "./boundary";
import { Loading } from "./placeholders";

type VisibleItems<Props> = (props: Props) => ReactNode;
type Load<Props> = () => Promise<VisibleItems<Props>>;

const waiting: (() => Promise<void>)[] = [];

/**
 * Return a component that is loaded when it is first rendered. While it cannot be loaded, a message is shown in its
 * place.
 */
export function lazyComponent<Props extends object>(what: string, load: Load<Props>) {
  const awaited = (props: Props) => <Awaited what={what} load={load} props={props} />;
  const shown = lazy(async () => ({ default: await load().catch(() => awaited) }));
  const preload = async () => {
    await load().catch(() => undefined);
  };
  return Object.assign(shown, { preload });
}

/** Return a component that is also loaded ahead of its first use. */
export function preloadedComponent<Props extends object>(what: string, load: Load<Props>) {
  const shown = lazyComponent(what, load);
  waiting.push(shown.preload);
  return shown;
}

/** Load all of them when the page is idle, so that they open at once and while the server is unreachable. */
export async function preloadComponents(): Promise<void> {
  // A loaded component may register others.
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next();
}

/**
 * Loads again when the connection is back. Some browsers do not request a failed file twice; then the page is reloaded.
 */
function Awaited<Props extends object>({ what, load, props }: { what: string; load: Load<Props>; props: Props }) {
  const link = useConnectionState();
  const [Come, setCome] = useState<VisibleItems<Props> | null>(null);
  const [isRefused, setRefused] = useState(false);
  useEffect(() => {
    if (link !== "open") return;
    const refused = () => {
      setRefused(true);
      reloadOnce();
    };
    load().then((shown) => setCome(() => shown), refused);
  }, [link, load]);
  if (Come !== null) return <Come {...props} />;
  return link === "open" && !isRefused ? <Loading what={what} /> : <LoadFailure what={what} />;
}
