import { useEffect } from "react";
import { ahead } from "@/ui/loading/lazy";
import { Part } from "@/ui/loading/boundary";
import { show, useOverlay } from "./overlays";

const Palette = ahead("this window", () => import("./command-palette").then((module) => module.Palette));
const KeyHelp = ahead("this window", () => import("./shortcuts/shortcuts-dialog").then((module) => module.KeyHelp));
const NewTicket = ahead("this window", () => import("@/tickets/create/new-ticket-dialog").then((module) => module.NewTicket));

const close = () => show(null);

/** The windows themselves, loaded when they are first wanted; their keys are there from the start. */
export function OverlayHost() {
  const open = useOverlay();
  useEffect(() => close, []);
  return (
    <Part what={null}>
      {open === "palette" ? <Palette onClose={close} /> : null}
      {open === "keys" ? <KeyHelp onClose={close} /> : null}
      {open === "new-ticket" ? <NewTicket onClose={close} /> : null}
    </Part>
  );
}
