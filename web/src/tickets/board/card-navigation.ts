export type Direction = "up" | "down" | "left" | "right";

/** Return the card next to another in a direction; empty columns are skipped. */
export function neighbour(
  columns: readonly (readonly string[])[],
  current: string | null,
  direction: Direction,
): string | undefined {
  const first = columns.find((column) => column.length > 0)?.[0];
  if (current === null) return first;
  const x = columns.findIndex((column) => column.includes(current));
  if (x < 0) return first;
  const column = columns[x] ?? [];
  const y = column.indexOf(current);
  if (direction === "up" || direction === "down") return column[y + (direction === "down" ? 1 : -1)] ?? current;
  const beside = direction === "right" ? columns.slice(x + 1) : columns.slice(0, x).toReversed();
  const target = beside.find((each) => each.length > 0);
  return target === undefined ? current : target[Math.min(y, target.length - 1)];
}
