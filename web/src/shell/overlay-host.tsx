import { lazy, useEffect } from "react";
import { Part } from "@/ui/part";
import { show, useOverlay } from "./overlays";

const Palette = lazy(() => import("./palette").then((module) => ({ default: module.Palette })));
const KeyHelp = lazy(() => import("./key-help").then((module) => ({ default: module.KeyHelp })));
const NewTicket = lazy(() => import("@/tickets/new-ticket").then((module) => ({ default: module.NewTicket })));

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
