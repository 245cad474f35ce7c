const dollars = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumFractionDigits: 2 });
const cents = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumFractionDigits: 4 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function usd(amount: number): string {
  return amount !== 0 && Math.abs(amount) < 0.1 ? cents.format(amount) : dollars.format(amount);
}

/** Format a cost; the part that the scripted model was charged is marked as simulated. */
export function cost({ cost_usd: total, simulated_cost_usd: simulated = 0 }: { cost_usd: number; simulated_cost_usd?: number }): string {
  if (simulated <= 0) return usd(total);
  return simulated >= total ? `${usd(total)} simulated` : `${usd(total)} (${usd(simulated)} simulated)`;
}

export function count(amount: number): string {
  return amount < 10_000 ? amount.toLocaleString("en") : compact.format(amount);
}

export function bytes(amount: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = amount;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}
