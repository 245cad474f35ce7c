import { FINAL, OUTCOME_STYLES } from "@/outcome/outcome";
import { Dot } from "@/ui/badge";
import { Facts } from "@/ui/facts";
import { cost, count } from "@/ui/text/numbers";
import { lazyComponent } from "@/ui/loading/lazy";
import { LazyBoundary } from "@/ui/loading/boundary";
import { dayLabel, totals, type Day } from "../overview";

const Chart = lazyComponent("the chart", () => import("./daily-chart").then((module) => module.default));

/** Throughput and cost of the last days, as charts and as a table. */
export function DailyTotals({ days }: { days: readonly Day[] }) {
  const sum = totals(days);
  return (
    <>
      <Facts title={`Tasks per day · ${FINAL.map((outcome) => `${count(sum.outcomes[outcome])} ${OUTCOME_STYLES[outcome].label.toLowerCase()}`).join(", ")} in ${days.length} days`}>
        <LazyBoundary what="the chart">
          <Chart days={days} of="throughput" />
        </LazyBoundary>
        <Legend />
      </Facts>
      <Facts title={`Cost per day · ${cost(sum)} and ${count(sum.tokens)} tokens in ${days.length} days`}>
        <LazyBoundary what="the chart">
          <Chart days={days} of="cost" />
        </LazyBoundary>
      </Facts>
      <details className="text-xs text-soft lg:col-span-2">
        <summary className="cursor-pointer rounded px-1 py-0.5">Show as a table</summary>
        <DaysTable days={days} />
      </details>
    </>
  );
}

function Legend() {
  return (
    <p aria-hidden className="mt-1 flex flex-wrap gap-x-3 text-2xs text-soft">
      {FINAL.map((outcome) => (
        <span key={outcome} className="flex items-center gap-1">
          <Dot tone={OUTCOME_STYLES[outcome].tone} /> {OUTCOME_STYLES[outcome].label.toLowerCase()}
        </span>
      ))}
    </p>
  );
}

function DaysTable({ days }: { days: readonly Day[] }) {
  return (
    <table className="mt-2 w-full max-w-3xl text-left tabular-nums">
      <caption className="sr-only">Throughput and cost per day</caption>
      <thead>
        <tr>
          {["Day (UTC)", ...FINAL.map((outcome) => OUTCOME_STYLES[outcome].label), "Cost", "Tokens"].map((name) => (
            <th key={name} scope="col" className="py-1 pr-4 font-medium">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {days.map((day) => (
          <tr key={day.date} className="border-t">
            <th scope="row" className="py-1 pr-4 font-normal">
              {dayLabel(day.date)}
            </th>
            {FINAL.map((outcome) => (
              <td key={outcome}>{count(day.outcomes[outcome] ?? 0)}</td>
            ))}
            <td>{cost(day)}</td>
            <td>{count(day.tokens)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
