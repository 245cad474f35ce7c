import { plain } from "@/ui/text/ansi-text";
import { Dot } from "@/ui/badge";
import { cn } from "@/ui/cn";
import { record, textOf } from "@/sandboxes/event-data";
import { Output } from "../output";

/** Acceptance commands with their output. */
export function Checks({ checks }: { checks: readonly unknown[] }) {
  return checks.map((each, index) => {
    const check = record(each);
    const warning = typeof check.warning === "string" ? check.warning : null;
    const isGood = check.exit_code === 0 && warning === null;
    const look = isGood ? "text-good" : warning === null ? "text-bad" : "text-warn";
    return (
      <div key={index} className="min-w-0 space-y-1">
        <p className="flex min-w-0 items-baseline gap-2 text-xs">
          <Dot tone={isGood ? "good" : warning === null ? "bad" : "warn"} />
          <code className="min-w-0 font-mono [overflow-wrap:anywhere]">{plain(textOf(check.command))}</code>
          <span className={cn("shrink-0", look)}>
            {check.exit_code === null ? "did not finish" : `exit ${textOf(check.exit_code)}`}
            {warning === null ? "" : `, ${plain(warning)}`}
          </span>
        </p>
        <Output cut={{ text: textOf(check.output), isCut: false, blob: null, size: null }} label="Output" />
      </div>
    );
  });
}
