import { useEffect, useState } from "react";
import { useConnectionState } from "@/stream/stream-provider";

const PATIENCE_MS = 3_000;

/** A banner that appears when the connection is lost for some time, and disappears when it is back. */
export function ConnectionBanner() {
  const state = useConnectionState();
  const [isLong, setLong] = useState(false);
  // Show the banner at once if the user tries to do something.
  useEffect(() => {
    if (state !== "lost") return;
    const show = () => setLong(true);
    document.addEventListener("click", show, { capture: true });
    document.addEventListener("submit", show, { capture: true });
    return () => {
      document.removeEventListener("click", show, { capture: true });
      document.removeEventListener("submit", show, { capture: true });
    };
  }, [state]);
  useEffect(() => {
    const timer = setTimeout(() => setLong(state !== "open"), state === "open" ? 0 : PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [state]);
  return (
    <div role="status" aria-live="polite">
      {isLong && state !== "open" ? (
        <p className="border-b border-warn/30 bg-warn-soft px-4 py-1.5 text-center text-xs text-warn">
          The server is unreachable, so this page may be out of date. Reconnecting…
        </p>
      ) : null}
    </div>
  );
}
