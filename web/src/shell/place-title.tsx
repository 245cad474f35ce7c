import { useLocation } from "@tanstack/react-router";
import { useTitle } from "./title";

const TITLES: Record<string, string> = {
  "/": "Board",
  "/sandboxes": "Sandboxes",
  "/sandboxes/compare": "Compare",
  "/sandbox/new": "New sandbox",
  "/activity": "Activity",
  "/health-overview": "Health",
};

/** Every page's title. It stands before the page, so a page that knows better has the last word. */
export function PlaceTitle() {
  const path = useLocation({ select: (location) => location.pathname });
  const [, kind, id] = path.split("/");
  useTitle(TITLES[path] ?? (kind === "sandbox" ? id : kind === "tickets" ? "Ticket" : undefined));
  return null;
}
