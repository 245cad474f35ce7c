import { Component, Suspense, useEffect, type ReactNode } from "react";
import { useLinkState } from "@/live/live";
import { Button } from "./button";
import { Loading } from "./state";

const MARK = "reloaded-at";
/** A page that was just loaded anew is not loaded anew again by itself. */
const PAUSE_MS = 20_000;

/** A part of the page that is loaded when it is first shown. What goes wrong with it stays in its place. */
export function Part({ what, children }: { what: string | null; children: ReactNode }) {
  return (
    <Boundary fallback={<Missing what={what ?? "this"} />}>
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

/** Browsers do not ask twice for a part that could not be fetched, so the page is loaded anew once the server is there. */
export function Missing({ what }: { what: string }) {
  const link = useLinkState();
  useEffect(() => {
    if (link === "open") reloadOnce();
  }, [link]);
  return (
    <div role="status" className="flex flex-col items-center gap-3 p-6 text-center text-soft">
      <p>
        {link === "open" ? `Something went wrong with ${what}.` : `${what} could not be loaded; it comes when the server is back.`}
      </p>
      {link === "open" ? <Button onClick={() => location.reload()}>Load the page anew</Button> : null}
    </div>
  );
}

function reloadOnce(): void {
  const last = Number(sessionStorage.getItem(MARK) ?? 0);
  if (Date.now() - last < PAUSE_MS) return;
  sessionStorage.setItem(MARK, String(Date.now()));
  location.reload();
}
