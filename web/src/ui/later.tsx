import { lazy, type ReactNode } from "react";
import { Missing } from "./part";

type Shown<Props> = (props: Props) => ReactNode;

const waiting: (() => Promise<void>)[] = [];

/**
 * A component that is fetched when it is first shown, or ahead of that. One that cannot be fetched says so in its place:
 * the page itself stays.
 */
export function later<Props extends object>(what: string, load: () => Promise<Shown<Props>>) {
  const missing: Shown<Props> = () => <Missing what={what} />;
  const shown = lazy(async () => ({ default: await load().catch(() => missing) }));
  const preload = async () => {
    await load().catch(() => undefined);
  };
  waiting.push(preload);
  return Object.assign(shown, { preload });
}

/** Fetch them all while nothing else is to be done: what is here can be opened at once, and while the server is away. */
export async function fetchAhead(): Promise<void> {
  // One that has come may bring others that wait.
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next();
}
