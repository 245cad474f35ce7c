import type { Sandbox } from "@/api/client";
import { Dot } from "@/ui/badge";
import { sandboxLook, type Look } from "./outcome";

/** A dot and the words for it. */
export function LookLabel({ look, pulse = false, title }: { look: Look; pulse?: boolean; title?: string }) {
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap" title={title}>
      <Dot tone={look.tone} pulse={pulse} />
      {look.words}
    </span>
  );
}

/** What a sandbox does, or what came of it. */
export function SandboxOutcome({ sandbox }: { sandbox: Sandbox }) {
  const isAtWork = sandbox.status === "running" || sandbox.status === "creating";
  return <LookLabel look={sandboxLook(sandbox)} pulse={isAtWork} title={`Sandbox ${sandbox.status}`} />;
}
