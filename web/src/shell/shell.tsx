import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, Outlet } from "@tanstack/react-router";
import { Plus, Search } from "lucide-react";
import { useEffect } from "react";
import { signedOut } from "@/api/client";
import { LiveProvider } from "@/stream/stream-provider";
import { WarningBanner } from "@/monitoring/warnings";
import { Button } from "@/ui/button";
import { preloadComponents } from "@/ui/loading/lazy";
import { Notices } from "@/ui/notices";
import { Loading, LoadError } from "@/ui/loading/placeholders";
import { AccountMenu } from "./account-menu";
import { DemoGuide } from "./demo-guide";
import { LiveUpdates } from "./live-updates";
import { GlobalShortcuts } from "./shortcuts/global-shortcuts";
import { ConnectionBanner } from "./connection-banner";
import { Navigation } from "./navigation";
import { OverlayHost } from "./overlay-host";
import { show } from "./overlays";
import { clearSession, meQuery } from "./session/session";
import { SignIn } from "./session/sign-in";

/** By then the first page has loaded. */
const SETTLED_MS = 3_000;

/** The frame of every page: session, navigation, connection and dialogs. */
export function Shell() {
  const queries = useQueryClient();
  const me = useQuery(meQuery);
  useEffect(() => {
    const forget = () => clearSession(queries);
    signedOut.addEventListener("signed-out", forget);
    return () => signedOut.removeEventListener("signed-out", forget);
  }, [queries]);
  const isSignedIn = me.data != null;
  useEffect(() => {
    if (!isSignedIn) return;
    const timer = setTimeout(() => void preloadComponents(), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [isSignedIn]);
  if (me.isPending) return <Loading what="OmoiOS" />;
  if (me.data === undefined) return <LoadError what="The page" error={me.error} retry={() => void me.refetch()} />;
  if (me.data === null) return <SignIn />;
  return (
    <LiveProvider since={me.data.position}>
      <LiveUpdates />
      <GlobalShortcuts />
      <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-surface focus:p-2">
        Skip to content
      </a>
      <div className="flex h-full flex-col">
        <header className="flex h-12 shrink-0 items-center gap-3 border-b bg-surface px-3 max-sm:gap-1 max-sm:px-2">
          <Link to="/" className="flex items-center gap-2 font-semibold" aria-label="OmoiOS board">
            <img src="/icon.svg" alt="" className="size-6" />
            <span className="max-md:hidden">OmoiOS</span>
          </Link>
          <Navigation />
          <div className="flex-1" />
          <Button variant="quiet" size="icon" aria-label="Open command palette" title="Command palette (Ctrl+K)" onClick={() => show("palette")}>
            <Search />
          </Button>
          <Button variant="primary" aria-label="New ticket" title="New ticket (c)" onClick={() => show("new-ticket")}>
            <Plus />
            <span className="max-sm:hidden">New ticket</span>
          </Button>
          <AccountMenu me={me.data} />
        </header>
        <ConnectionBanner />
        <WarningBanner />
        <DemoGuide />
        <main id="main" tabIndex={-1} className="min-h-0 flex-1 overflow-auto outline-none">
          <Outlet />
        </main>
      </div>
      <OverlayHost />
      <Notices />
    </LiveProvider>
  );
}
