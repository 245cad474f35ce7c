import type { Ticket } from "@/api/client";
import type { Tone } from "@/ui/badge";
import type { TicketStatus } from "./queries";

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

export const STATUS: Record<TicketStatus, { label: string; tone: Tone }> = {
  backlog: { label: "Backlog", tone: "neutral" },
  analyzing: { label: "Analyzing", tone: "info" },
  building: { label: "Building", tone: "accent" },
  testing: { label: "Testing", tone: "info" },
  done: { label: "Done", tone: "good" },
  blocked: { label: "Blocked", tone: "bad" },
  cancelled: { label: "Cancelled", tone: "neutral" },
};
