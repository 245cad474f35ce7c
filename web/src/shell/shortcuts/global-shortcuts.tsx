import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { keyRegistry, useKeys } from "./shortcuts";
import { show } from "../overlays";

/** The keys that mean the same on every page, and the one listener for all keys. */
export function GlobalKeys() {
  const navigate = useNavigate();
  useEffect(() => {
    addEventListener("keydown", keyRegistry.handle);
    return () => removeEventListener("keydown", keyRegistry.handle);
  }, []);
  useKeys("Everywhere", [
    { keys: "mod+k", says: "Go anywhere, do anything", run: () => show("palette"), whileTyping: true },
    { keys: "?", says: "Show the keys", run: () => show("keys") },
    { keys: "c", says: "New ticket", run: () => show("new-ticket") },
    { keys: "g b", says: "Go to the board", run: () => void navigate({ to: "/" }) },
    { keys: "g s", says: "Go to the sandboxes", run: () => void navigate({ to: "/sandboxes" }) },
    { keys: "g a", says: "Go to the activity", run: () => void navigate({ to: "/activity" }) },
    { keys: "g h", says: "Go to the health", run: () => void navigate({ to: "/health-overview" }) },
  ]);
  return null;
}
