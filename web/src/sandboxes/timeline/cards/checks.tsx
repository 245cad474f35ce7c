import { plain } from "@/ui/ansi-text";
import { Dot } from "@/ui/badge";
import { record, shown } from "../../payload";
import { Output } from "../output";

/** Commands that decide whether work is accepted, with what they printed. */
export function Checks({ checks }: { checks: readonly unknown[] }) {
  return checks.map((each, index) => {
    const check = record(each);
    const isGood = check.exit_code === 0;
    return (
      <div key={index} className="min-w-0 space-y-1">
        <p className="flex min-w-0 items-baseline gap-2 text-xs">
          <Dot tone={isGood ? "good" : "bad"} />
          <code className="min-w-0 font-mono [overflow-wrap:anywhere]">{plain(shown(check.command))}</code>
          <span className={isGood ? "shrink-0 text-good" : "shrink-0 text-bad"}>exit {shown(check.exit_code)}</span>
        </p>
        <Output cut={{ text: shown(check.output), isCut: false, blob: null, size: null }} label="Output" />
      </div>
    );
  });
}
