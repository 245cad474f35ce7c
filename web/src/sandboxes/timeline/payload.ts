import type { SandboxEvent } from "@/api/client";

/** Everything an event carries comes out of a sandbox: a field is read as what it should be, or not at all. */

export function str(event: SandboxEvent | undefined, key: string): string | null {
  const value = event?.event_data[key];
  return typeof value === "string" && value !== "" ? value : null;
}

export function num(event: SandboxEvent | undefined, key: string): number | null {
  const value = event?.event_data[key];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function flag(event: SandboxEvent | undefined, key: string): boolean {
  return event?.event_data[key] === true;
}

export function list(event: SandboxEvent | undefined, key: string): unknown[] {
  const value = event?.event_data[key];
  return Array.isArray(value) ? value : [];
}

export function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** A value as text: as it is when it is text, else as JSON. */
export function shown(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value, null, 2);
}

/** What of a field is there, and where the rest of it is. */
export interface Cut {
  text: string;
  /** The hash that the whole value can be fetched by. */
  blob: string | null;
  /** The size of the whole value; null when nothing is missing. */
  size: number | null;
}

export function cut(event: SandboxEvent | undefined, key: string): Cut {
  const text = shown(event?.event_data[key]);
  if (!flag(event, `${key}_truncated`)) return { text, blob: null, size: null };
  const blob = str(event, `${key}_blob`);
  return { text, blob: blob !== null && /^[0-9a-f]{64}$/.test(blob) ? blob : null, size: num(event, `${key}_size`) };
}
