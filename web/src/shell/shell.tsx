import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, Outlet } from "@tanstack/react-router";
import { Plus, Search } from "lucide-react";
import { useEffect } from "react";
import { signedOut } from "@/api/client";
import { LiveProvider } from "@/stream/stream-provider";
import { WarningBanner } from "@/monitoring/warnings";
import { Button } from "@/ui/button";
import { fetchAhead } from "@/ui/loading/lazy";
import { Notices } from "@/ui/notices";
import { Loading, Trouble } from "@/ui/loading/placeholders";
import { AccountMenu } from "./account-menu";
import { DemoGuide } from "./demo-guide";
import { Freshness } from "./live-updates";
import { GlobalKeys } from "./shortcuts/global-shortcuts";
import { LinkBanner } from "./connection-banner";
import { Nav } from "./navigation";
import { OverlayHost } from "./overlay-host";
import { show } from "./overlays";
import { forgetAll, meQuery } from "./session/session";
import { SignIn } from "./session/sign-in";

/** What the first page needs has come by then. */
const SETTLED_MS = 3_000;

/** What is around every page: who may see it, where one can go, and whether it is live. */
export function Shell() {
  const queries = useQueryClient();
  const me = useQuery(meQuery);
  useEffect(() => {
    const forget = () => forgetAll(queries);
    signedOut.addEventListener("signed-out", forget);
    return () => signedOut.removeEventListener("signed-out", forget);
  }, [queries]);
  const isSignedIn = me.data != null;
  useEffect(() => {
    if (!isSignedIn) return;
    const timer = setTimeout(() => void fetchAhead(), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [isSignedIn]);
  if (me.isPending) return <Loading what="OmoiOS" />;
  if (me.data === undefined) return <Trouble what="The page" error={me.error} retry={() => void me.refetch()} />;
  if (me.data === null) return <SignIn />;
  return (
    <LiveProvider since={me.data.position}>
      <Freshness />
      <GlobalKeys />
      <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-surface focus:p-2">
        Skip to the content
      </a>
      <div className="flex h-full flex-col">
        <header className="flex h-12 shrink-0 items-center gap-3 border-b bg-surface px-3">
          <Link to="/" className="flex items-center gap-2 font-semibold" aria-label="OmoiOS, the board">
            <img src="/icon.svg" alt="" className="size-6" />
            <span className="max-md:hidden">OmoiOS</span>
          </Link>
          <Nav />
          <div className="flex-1" />
          <Button variant="quiet" size="icon" aria-label="Go anywhere, do anything" title="Ctrl K" onClick={() => show("palette")}>
            <Search />
          </Button>
          <Button variant="primary" aria-label="New ticket" title="New ticket (c)" onClick={() => show("new-ticket")}>
            <Plus />
            <span className="max-sm:hidden">New ticket</span>
          </Button>
          <AccountMenu me={me.data} />
        </header>
        <LinkBanner />
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
