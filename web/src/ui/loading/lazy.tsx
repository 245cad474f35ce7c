import { lazy, useEffect, useState, type ReactNode } from "react";
import { useConnectionState } from "@/stream/stream-provider";
import { LoadFailure, reloadOnce } from "./boundary";
import { Loading } from "./placeholders";

type VisibleItems<Props> = (props: Props) => ReactNode;
type Load<Props> = () => Promise<VisibleItems<Props>>;

const waiting: (() => Promise<void>)[] = [];

/** A component that is fetched when it is first shown. One that cannot be fetched says so in its place until it has come. */
export function later<Props extends object>(what: string, load: Load<Props>) {
  const awaited = (props: Props) => <Awaited what={what} load={load} props={props} />;
  const shown = lazy(async () => ({ default: await load().catch(() => awaited) }));
  const preload = async () => {
    await load().catch(() => undefined);
  };
  return Object.assign(shown, { preload });
}

/** The same, fetched ahead of being shown. */
export function preloadedComponent<Props extends object>(what: string, load: Load<Props>) {
  const shown = later(what, load);
  waiting.push(shown.preload);
  return shown;
}

/** Fetch them all while nothing else is to be done: what is here can be opened at once, and while the server is away. */
export async function preloadComponents(): Promise<void> {
  // One that has come may bring others that wait.
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next();
}

/** Fetched again once the server is there. Some browsers do not ask twice for the same file; there the page is loaded anew. */
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
