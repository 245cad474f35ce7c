import { Component, Suspense, useEffect, type ReactNode } from "react";
import { useConnectionState } from "@/stream/stream-provider";
import { Button } from "../button";
import { sentence } from "../text/sentence";
import { Loading } from "./placeholders";

const MARK = "reloaded-at";
/** Do not reload a page that has just been reloaded. */
const PAUSE_MS = 20_000;

/** A lazily loaded part of the page. Errors stay inside it. */
export function LazyBoundary({ what, children }: { what: string | null; children: ReactNode }) {
  return (
    <Boundary fallback={<Broken what={what ?? "this dialog"} />}>
      <Suspense fallback={what === null ? null : <Loading what={what} />}>{children}</Suspense>
    </Boundary>
  );
}

class Boundary extends Component<{ fallback: ReactNode; children: ReactNode }, { isBroken: boolean }> {
  override state = { isBroken: false };

  static getDerivedStateFromError() {
    return { isBroken: true };
  }

  override render() {
    return this.state.isBroken ? this.props.fallback : this.props.children;
  }
}

/** Shown after an error; a reload may fix it. */
function Broken({ what }: { what: string }) {
  const link = useConnectionState();
  useEffect(() => {
    if (link === "open") reloadOnce();
  }, [link]);
  return <LoadFailure what={what} />;
}

/** Shown in place of a part that could not be loaded. */
export function LoadFailure({ what }: { what: string }) {
  const link = useConnectionState();
  return (
    <div role="status" className="flex flex-col items-center gap-3 p-6 text-center text-soft">
      <p>
        {link === "open" ? `Something went wrong with ${what}.` : sentence(`${what} could not be loaded because the server is unreachable. Reconnecting…`)}
      </p>
      {link === "open" ? <Button onClick={() => location.reload()}>Reload page</Button> : null}
    </div>
  );
}

/** Reload the page, but not repeatedly. */
export function reloadOnce(): void {
  const last = Number(sessionStorage.getItem(MARK) ?? 0);
  if (Date.now() - last < PAUSE_MS) return;
  sessionStorage.setItem(MARK, String(Date.now()));
  location.reload();
}
