import { CircleCheck, TriangleAlert, X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { Button } from "./button";
import { cn } from "./cn";

interface Notice {
  id: number;
  text: string;
  isBad: boolean;
}

const SHOWN_MS = 6_000;

let notices: readonly Notice[] = [];
let last = 0;
const watchers = new Set<() => void>();

function change(next: readonly Notice[]): void {
  notices = next;
  for (const watcher of watchers) watcher();
}

function dismiss(id: number): void {
  change(notices.filter((notice) => notice.id !== id));
}

/** Show a notification. Successes disappear after some time; failures stay until dismissed. */
export function notify(text: string, { isBad = false }: { isBad?: boolean } = {}): void {
  const id = ++last;
  change([...notices.slice(-2), { id, text, isBad }]);
  if (!isBad) setTimeout(() => dismiss(id), SHOWN_MS);
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** The notifications of the whole page. */
export function Notices() {
  const shown = useSyncExternalStore(watch, () => notices);
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed right-3 bottom-3 z-[60] flex w-[min(24rem,calc(100vw-1.5rem))] flex-col gap-2"
    >
      {shown.map(({ id, text, isBad }) => (
        <div
          key={id}
          className="pointer-events-auto flex items-start gap-2 rounded-lg border border-line-strong bg-raised py-2 pr-1.5 pl-3 text-sm shadow-lg"
        >
          {isBad ? (
            <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
          ) : (
            <CircleCheck aria-hidden className="mt-0.5 size-4 shrink-0 text-good" />
          )}
          <p className={cn("min-w-0 flex-1 [overflow-wrap:anywhere]", isBad && "text-bad")}>{text}</p>
          <Button variant="quiet" size="icon" className="size-6" aria-label="Dismiss notification" onClick={() => dismiss(id)}>
            <X />
          </Button>
        </div>
      ))}
    </div>
  );
}
