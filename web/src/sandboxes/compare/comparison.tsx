import { useMemo, useState } from "react";
import type { Sandbox } from "@/api/client";
import { SandboxOutcome } from "@/outcome/outcome-label";
import { cost, count } from "@/ui/text/numbers";
import { duration } from "@/ui/time/format";
import { useNow } from "@/ui/time/time";
import { useCollector } from "../feed/collector";
import { useFeed } from "../feed/use-feed";
import { align } from "./align";
import { FiguresTable, counted, type Figure } from "./figures-table";
import { Run, type ChangedLines } from "./sandbox-steps";
import { Side } from "./sandbox-heading";
import { StepsTable } from "./steps-table";

/** Two sandboxes, figure by figure and step by step, updated live. */
export function Comparison({ a, b }: { a: Sandbox; b: Sandbox }) {
  const [left, right] = [useRun(a.id), useRun(b.id)];
  const [onlyDifferent, setOnlyDifferent] = useState(false);
  const lengths = `${left.steps.length} ${right.steps.length}`;
  // Steps are appended in place; the lengths show when.
  const pairs = useMemo(() => (lengths === "" ? [] : align(left.steps, right.steps)), [left.steps, right.steps, lengths]);
  const different = pairs.reduce((sum, pair) => sum + (pair.isSame ? 0 : 1), 0);
  return (
    <div className="space-y-3">
      <div className="grid grid-cols-2 gap-3">
        <Side letter="A" sandbox={a} />
        <Side letter="B" sandbox={b} />
      </div>
      <FiguresTable caption="Outcome" figures={useOutcome(a, b)} />
      <div className="grid gap-3 lg:grid-cols-2">
        <FiguresTable caption="Tools used" figures={counted(left.tools, right.tools, many)} />
        <FiguresTable caption="Files changed" figures={counted(left.files, right.files, lines)} />
      </div>
      <FiguresTable caption="Events by type" figures={counted(left.types, right.types, many)} />
      <section aria-label="Steps" className="space-y-2">
        <header className="flex flex-wrap items-center justify-between gap-2">
          <h2 className="text-sm font-semibold">
            Steps <span className="font-normal text-soft">({different} of {pairs.length} differ)</span>
          </h2>
          <label className="flex items-center gap-2 text-xs text-soft">
            <input type="checkbox" className="size-4 accent-accent" checked={onlyDifferent} onChange={(event) => setOnlyDifferent(event.target.checked)} />
            Only differences
          </label>
        </header>
        <StepsTable a={a.id} b={b.id} pairs={pairs} onlyDifferent={onlyDifferent} />
      </section>
    </div>
  );
}

function useRun(sandboxId: string): Run {
  const { feed } = useFeed(sandboxId);
  return useCollector(feed, () => new Run());
}

const many = (value: number | undefined) => count(value ?? 0);
const lines = (value: ChangedLines | undefined) => (value === undefined ? "–" : `+${count(value.added)} −${count(value.removed)}`);

function useOutcome(a: Sandbox, b: Sandbox): Figure[] {
  const now = useNow();
  const lasted = ({ created_at, ended_at }: Sandbox) => duration((ended_at === null ? now : Date.parse(ended_at)) - Date.parse(created_at));
  const row = (name: string, show: (sandbox: Sandbox) => string): Figure => ({ name, a: show(a), b: show(b), differs: show(a) !== show(b) });
  return [
    { name: "Outcome", a: <SandboxOutcome sandbox={a} />, b: <SandboxOutcome sandbox={b} />, differs: a.status !== b.status || a.outcome !== b.outcome },
    row("End reason", (each) => each.end_reason ?? "–"),
    row("Duration", lasted),
    row("Cost", (each) => cost(each)),
    row("Tokens", (each) => count(each.tokens)),
    row("Events", (each) => count(each.last_seq)),
    row("Attempt", (each) => String(each.attempt)),
    row("Provider", (each) => each.provider),
    row("Model", (each) => each.model ?? "–"),
  ];
}
