import type { SandboxEvent } from "@/api/client";

/** What an agent reports has any shape; these read a field if it is what it should be. */

export function textOf(event: SandboxEvent, field: string): string | null {
  const value = event.event_data[field];
  return typeof value === "string" ? value : null;
}

export function numberOf(event: SandboxEvent, field: string): number | null {
  const value = event.event_data[field];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function flagOf(event: SandboxEvent, field: string): boolean {
  return event.event_data[field] === true;
}

/** A field of what a tool was called with. */
export function inputOf(event: SandboxEvent, field: string): string | null {
  const input = event.event_data.input;
  if (typeof input !== "object" || input === null) return null;
  const value = (input as Record<string, unknown>)[field];
  return typeof value === "string" ? value : null;
}
