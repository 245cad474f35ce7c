import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import type { Task } from "@/api/client";
import { Badge } from "@/ui/badge";
import { CopyButton } from "@/ui/copy-button";
import { Prose } from "@/ui/text/markdown";

type Result = NonNullable<Task["result"]>;
type Check = NonNullable<Result["checks"]>[number];

/** The checks of a task and the agent's report. */
export function Evidence({ result }: { result: Result }) {
  const checks = result.checks ?? [];
  return (
    <div className="space-y-3">
      {checks.length === 0 ? null : (
        <ul className="space-y-1.5">
          {checks.map((check, index) => (
            // oxlint-disable-next-line react/no-array-index-key -- the same command may be there twice
            <CheckItem key={index} check={check} />
          ))}
        </ul>
      )}
      {result.final_output ? (
        <details open className="group rounded-md border">
          <Summary>Agent report</Summary>
          <div className="border-t px-3 py-2">
            <Prose>{result.final_output}</Prose>
          </div>
        </details>
      ) : null}
    </div>
  );
}

function CheckItem({ check }: { check: Check }) {
  const passed = check.exit_code === 0;
  return (
    <li>
      <details open={!passed || check.warning !== null} className="group rounded-md border">
        <Summary>
          <code className="min-w-0 flex-1 basis-40 font-mono text-xs [overflow-wrap:anywhere]">{check.command}</code>
          {check.warning ? <Badge tone="warn">{check.warning}</Badge> : null}
          <Badge tone={check.warning ? "neutral" : passed ? "good" : "bad"}>{outcome(check)}</Badge>
        </Summary>
        {/* Scrollable by keyboard. */}
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
        <pre tabIndex={0} aria-label={`Output of ${check.command}`} className="max-h-96 overflow-auto border-t bg-sunken px-3 py-2 font-mono text-xs">
          {check.output === "" ? "(no output)" : check.output}
        </pre>
      </details>
    </li>
  );
}

function outcome({ exit_code: code }: Check): string {
  if (code === 0) return "passed";
  return code === null ? "did not finish" : `exit ${code}`;
}

function Summary({ children }: { children: ReactNode }) {
  return (
    <summary className="flex cursor-pointer list-none flex-wrap items-center gap-2 px-2.5 py-1.5 text-xs font-medium [&::-webkit-details-marker]:hidden">
      <ChevronRight aria-hidden className="size-3.5 shrink-0 text-faint transition-transform group-open:rotate-90" />
      {children}
    </summary>
  );
}

/** The branch and commit of the work. */
export function BranchAndCommit({ branch, commit }: { branch: string | null; commit: string | null | undefined }) {
  if (branch === null) return null;
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-xs">
      <span className="flex min-w-0 items-center gap-1">
        <span className="text-faint">Branch</span>
        <code className="min-w-0 font-mono [overflow-wrap:anywhere]">{branch}</code>
        <CopyButton text={branch} label="Copy branch name" />
      </span>
      {commit ? (
        <span className="flex items-center gap-1">
          <span className="text-faint">Commit</span>
          <code className="font-mono" title={commit}>
            {commit.slice(0, 12)}
          </code>
          <CopyButton text={commit} label="Copy commit hash" />
        </span>
      ) : null}
    </div>
  );
}
