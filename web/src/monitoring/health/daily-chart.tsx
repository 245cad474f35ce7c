import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import { FINAL, OUTCOME_STYLES } from "@/outcome/outcome";
import type { Tone } from "@/ui/badge";
import { usd } from "@/ui/text/numbers";
import { dayLabel, type Day } from "../overview";

const AXIS = { fontSize: 11, fill: "var(--text-soft)" };
const BOX = { background: "var(--raised)", border: "1px solid var(--line-strong)", borderRadius: 6, fontSize: 12, color: "var(--text)" };
const FILLS: Record<Tone, string> = {
  neutral: "var(--text-faint)",
  good: "var(--good)",
  bad: "var(--bad)",
  warn: "var(--warn)",
  info: "var(--info)",
  accent: "var(--accent)",
};
const CURSOR = { fill: "var(--sunken)" };

export interface ChartProps {
  days: readonly Day[];
  of: "throughput" | "cost";
}

/** One bar per day. A table with the same figures is available to screen readers. */
export default function Chart({ days, of }: ChartProps) {
  const rows = days.map((day) => ({ ...day, label: dayLabel(day.date) }));
  const isSimulated = days.some((day) => day.cost_simulated);
  return (
    <div aria-hidden className="h-52">
      <ResponsiveContainer width="100%" height="100%">
        <BarChart data={rows} margin={{ top: 8, right: 8, bottom: 0, left: -8 }} accessibilityLayer={false}>
          <CartesianGrid vertical={false} stroke="var(--line)" />
          <XAxis dataKey="label" tick={AXIS} tickLine={false} axisLine={false} minTickGap={16} />
          <YAxis
            tick={AXIS}
            tickLine={false}
            axisLine={false}
            width={52}
            allowDecimals={of === "cost"}
            tickFormatter={(value: number) => (of === "cost" ? usd(value) : String(value))}
          />
          <Tooltip
            contentStyle={BOX}
            cursor={CURSOR}
            isAnimationActive={false}
            formatter={(value) => (of === "cost" ? usd(Number(value)) : String(value))}
          />
          {of === "cost" ? (
            <Bar dataKey="cost_usd" name={isSimulated ? "cost (partly or fully simulated)" : "cost"} fill="var(--accent)" isAnimationActive={false} radius={[3, 3, 0, 0]} />
          ) : (
            <>
              {FINAL.map((outcome) => (
                <Bar
                  key={outcome}
                  dataKey={`outcomes.${outcome}`}
                  name={OUTCOME_STYLES[outcome].label.toLowerCase()}
                  stackId="tasks"
                  fill={FILLS[OUTCOME_STYLES[outcome].tone]}
                  isAnimationActive={false}
                />
              ))}
            </>
          )}
        </BarChart>
      </ResponsiveContainer>
    </div>
  );
}
