import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import { usd } from "@/ui/figures";
import { dayLabel, type Day } from "./overview";

const AXIS = { fontSize: 11, fill: "var(--text-soft)" };
const BOX = { background: "var(--raised)", border: "1px solid var(--line-strong)", borderRadius: 6, fontSize: 12, color: "var(--text)" };
const CURSOR = { fill: "var(--sunken)" };

export interface ChartProps {
  days: readonly Day[];
  of: "throughput" | "cost";
}

/** A bar for every day. The same figures stand in a table for those who do not see it. */
export default function Chart({ days, of }: ChartProps) {
  const rows = days.map((day) => ({ ...day, label: dayLabel(day.date) }));
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
            <Bar dataKey="cost_usd" name="cost" fill="var(--accent)" isAnimationActive={false} radius={[3, 3, 0, 0]} />
          ) : (
            <>
              <Bar dataKey="completed" name="completed" stackId="tasks" fill="var(--good)" isAnimationActive={false} />
              <Bar dataKey="failed" name="failed" stackId="tasks" fill="var(--bad)" isAnimationActive={false} radius={[3, 3, 0, 0]} />
            </>
          )}
        </BarChart>
      </ResponsiveContainer>
    </div>
  );
}
