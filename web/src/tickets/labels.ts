import type { Ticket } from "@/api/client";
import type { Tone } from "@/ui/badge";

export const PRIORITY: Record<Ticket["priority"], { label: string; tone: Tone }> = {
  LOW: { label: "Low", tone: "neutral" },
  MEDIUM: { label: "Medium", tone: "neutral" },
  HIGH: { label: "High", tone: "warn" },
  CRITICAL: { label: "Critical", tone: "bad" },
};

export const TYPE: Record<Ticket["ticket_type"], string> = {
  feature: "Feature",
  bug: "Bug",
  refactor: "Refactor",
  docs: "Docs",
  test: "Test",
  chore: "Chore",
};
