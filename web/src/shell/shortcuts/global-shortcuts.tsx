import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { shortcutRegistry, useShortcuts } from "./shortcuts";
import { show } from "../overlays";

/** Shortcuts that work on every page, and the listener for all shortcuts. */
export function GlobalShortcuts() {
  const navigate = useNavigate();
  useEffect(() => {
    addEventListener("keydown", shortcutRegistry.handle);
    return () => removeEventListener("keydown", shortcutRegistry.handle);
  }, []);
  useShortcuts("Global", [
    { keys: "mod+k", label: "Open command palette", run: () => show("palette"), whileTyping: true },
    { keys: "?", label: "Show keyboard shortcuts", run: () => show("keys") },
    { keys: "c", label: "New ticket", run: () => show("new-ticket") },
    { keys: "g b", label: "Go to Board", run: () => void navigate({ to: "/" }) },
    { keys: "g s", label: "Go to Sandboxes", run: () => void navigate({ to: "/sandboxes" }) },
    { keys: "g a", label: "Go to Activity", run: () => void navigate({ to: "/activity" }) },
    { keys: "g h", label: "Go to Health", run: () => void navigate({ to: "/health-overview" }) },
  ]);
  return null;
}
