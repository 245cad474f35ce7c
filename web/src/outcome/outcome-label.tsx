import type { Sandbox } from "@/api/client";
import { Dot } from "@/ui/badge";
import { sandboxStyle, type StatusStyle } from "./outcome";

/** A coloured dot with a label. */
export function StatusLabel({ look, pulse = false, title }: { look: StatusStyle; pulse?: boolean; title?: string }) {
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap" title={title}>
      <Dot tone={look.tone} pulse={pulse} />
      {look.label}
    </span>
  );
}

/** The status of a running sandbox, or the outcome of an ended one. */
export function SandboxOutcome({ sandbox }: { sandbox: Sandbox }) {
  const isAtWork = sandbox.status === "running" || sandbox.status === "creating";
  return <StatusLabel look={sandboxStyle(sandbox)} pulse={isAtWork} title={`Sandbox ${sandbox.status}`} />;
}
