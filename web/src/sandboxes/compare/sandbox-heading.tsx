import { Link } from "@tanstack/react-router";
import type { Sandbox } from "@/api/client";
import { escapeControls } from "@/ui/text/control-characters";
import { titleOf } from "../list/row";

/** The sandbox that a column is about. */
export function Side({ letter, sandbox }: { letter: string; sandbox: Sandbox }) {
  return (
    <div className="min-w-0 text-left">
      <span className="mr-1.5 rounded bg-sunken px-1 font-mono text-2xs text-soft">{letter}</span>
      <Link to="/sandbox/$sandboxId" params={{ sandboxId: sandbox.id }} className="font-mono text-xs [overflow-wrap:anywhere] text-accent hover:underline">
        {sandbox.id}
      </Link>
      {titleOf(sandbox) === null ? null : (
        <p className="text-xs font-normal text-soft [overflow-wrap:anywhere]">{escapeControls(titleOf(sandbox) ?? "")}</p>
      )}
    </div>
  );
}
