import { Link } from "@tanstack/react-router";
import { cn } from "@/ui/cn";
import { escapeControls } from "@/ui/text/control-characters";
import type { Pair } from "./align";
import type { Step } from "./sandbox-steps";

/** The steps of both sandboxes in order; differences are highlighted. */
export function StepsTable(props: { a: string; b: string; pairs: readonly Pair[]; onlyDifferent: boolean }) {
  const shown = props.onlyDifferent ? props.pairs.filter((pair) => !pair.isSame) : props.pairs;
  return (
    <ol className="overflow-hidden rounded-lg border bg-surface text-xs">
      {shown.map((pair, index) => (
        <li
          key={index}
          className={cn(
            "grid grid-cols-2 divide-x border-b [contain-intrinsic-size:auto_2rem] [content-visibility:auto] last:border-b-0",
            !pair.isSame && "bg-warn-soft",
          )}
        >
          {pair.isSame ? null : <span className="sr-only">Differs:</span>}
          <Cell sandboxId={props.a} step={pair.a} />
          <Cell sandboxId={props.b} step={pair.b} />
        </li>
      ))}
      {shown.length === 0 ? <li className="p-3 text-faint">Both sandboxes took the same steps.</li> : null}
    </ol>
  );
}

function Cell({ sandboxId, step }: { sandboxId: string; step: Step | null }) {
  if (step === null) return <span className="px-2 py-1 text-faint">–</span>;
  return (
    <Link to="/sandbox/$sandboxId" params={{ sandboxId }} search={{ ev: step.seq }} className="block min-w-0 px-2 py-1 hover:bg-sunken">
      <span className={cn("font-medium", step.isError && "text-bad")}>
        {escapeControls(step.what)}
        {step.isError ? " (failed)" : ""}
      </span>{" "}
      <span className="line-clamp-3 font-mono text-2xs [overflow-wrap:anywhere] text-soft" title={escapeControls(step.target.slice(0, 2_000))}>
        {escapeControls(step.target.slice(0, 500))}
      </span>
    </Link>
  );
}
