import { useEffect } from "react";
import { preloadedComponent } from "@/ui/loading/lazy";
import { LazyBoundary } from "@/ui/loading/boundary";
import { show, useOverlay } from "./overlays";

const CommandPalette = preloadedComponent("this dialog", () => import("./command-palette").then((module) => module.CommandPalette));
const ShortcutsDialog = preloadedComponent("this dialog", () => import("./shortcuts/shortcuts-dialog").then((module) => module.ShortcutsDialog));
const NewTicketDialog = preloadedComponent("this dialog", () => import("@/tickets/create/new-ticket-dialog").then((module) => module.NewTicketDialog));

const close = () => show(null);

/** The dialogs, loaded on first use. Their shortcuts are registered from the start. */
export function OverlayHost() {
  const open = useOverlay();
  useEffect(() => close, []);
  return (
    <LazyBoundary what={null}>
      {open === "palette" ? <CommandPalette onClose={close} /> : null}
      {open === "keys" ? <ShortcutsDialog onClose={close} /> : null}
      {open === "new-ticket" ? <NewTicketDialog onClose={close} /> : null}
    </LazyBoundary>
  );
}
