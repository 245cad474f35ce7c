import { Link } from "@tanstack/react-router";
import { ClipboardList } from "lucide-react";
import { Badge } from "@/ui/badge";
import { Marked } from "@/ui/text/ansi";
import { plain } from "@/ui/text/ansi-text";
import { escapeControls } from "@/ui/text/control-characters";
import { CopyButton } from "@/ui/copy-button";
import { Clock, useNow } from "@/ui/time/time";
import { duration } from "@/ui/time/format";
import type { Command, Outcome } from "./commands";

/** A command with its exit code and duration. */
export function CommandRow(props: {
  sandboxId: string;
  command: Command;
  outcome: Outcome | null;
  query: string;
  /** Whether a command without a result is still running. */
  isLive: boolean;
  fullOutput: () => Promise<string>;
}) {
  const { command, outcome } = props;
  return (
    <div className="@container border-t px-3 pt-2 pb-1">
      <div className="flex flex-wrap items-start gap-x-2 @lg:flex-nowrap">
        <span aria-hidden className="font-mono text-xs leading-5 text-accent select-none">
          $
        </span>
        <div className="min-w-0 flex-1 basis-4/5">
          <pre className="font-mono text-xs leading-5 font-semibold [font-variant-ligatures:none] [overflow-wrap:anywhere] whitespace-pre-wrap">
            <Marked text={escapeControls(command.command)} query={props.query} />
          </pre>
          <p className="flex flex-wrap items-center gap-x-2 text-2xs text-faint">
            <Clock at={command.at} />
            {command.turn === null ? null : <span>turn {command.turn}</span>}
            {command.isSubagent ? <span>sub-agent</span> : null}
            {command.description === null ? null : <span className="[overflow-wrap:anywhere]">{escapeControls(command.description)}</span>}
            <Link
              to="/sandbox/$sandboxId"
              params={{ sandboxId: props.sandboxId }}
              search={(before) => ({ ...before, view: undefined, ev: command.seq })}
              className="underline-offset-2 hover:text-text hover:underline"
            >
              event {command.seq}
            </Link>
          </p>
        </div>
        <div className="flex shrink-0 items-center gap-1 @max-lg:ml-auto">
          <Ended command={command} outcome={outcome} isLive={props.isLive} />
          <CopyButton text={command.command} label="Copy command" />
          {outcome === null || outcome.output === "" ? null : (
            <CopyButton text={async () => plain(await props.fullOutput())} label="Copy output" icon={<ClipboardList />} />
          )}
        </div>
      </div>
    </div>
  );
}

function Ended({ command, outcome, isLive }: { command: Command; outcome: Outcome | null; isLive: boolean }) {
  if (outcome === null) return isLive ? <Running since={command.at} /> : <Badge>no result</Badge>;
  const took = outcome.durationMs === null ? "" : duration(outcome.durationMs);
  const isGood = outcome.exitCode === 0;
  return (
    <span className="flex items-center gap-1.5 text-2xs text-faint tabular-nums">
      {took}
      <Badge tone={isGood ? "good" : "bad"} className="px-1.5 text-2xs">
        {outcome.exitCode === null ? "failed" : `exit ${outcome.exitCode}`}
      </Badge>
    </span>
  );
}

function Running({ since }: { since: string }) {
  const now = useNow();
  return (
    <Badge tone="info" className="px-1.5 text-2xs tabular-nums">
      running {duration(Math.max(0, now - Date.parse(since)))}
    </Badge>
  );
}
