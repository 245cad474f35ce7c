import type { Step } from "./sandbox-steps";

/** Two steps side by side, or one that the other sandbox does not have. */
export interface Pair {
  a: Step | null;
  b: Step | null;
  isSame: boolean;
}

/** With more steps than this, they are paired by position only. */
const MOST = 1_500;

function nameOf(step: Step): string {
  return `${step.what}\n${step.target}\n${step.isError}`;
}

/** Pair the steps of two sandboxes: equal steps side by side, different ones in between. */
export function align(a: readonly Step[], b: readonly Step[]): Pair[] {
  if (a.length > MOST || b.length > MOST) return byOrder(a, b);
  const pairs: Pair[] = [];
  let [fromA, fromB] = [0, 0];
  for (const [atA, atB] of [...common(a, b), [a.length, b.length] as const]) {
    pairs.push(...byOrder(a.slice(fromA, atA), b.slice(fromB, atB)));
    const [stepA, stepB] = [a[atA], b[atB]];
    if (stepA !== undefined && stepB !== undefined) pairs.push({ a: stepA, b: stepB, isSame: true });
    [fromA, fromB] = [atA + 1, atB + 1];
  }
  return pairs;
}

function byOrder(a: readonly Step[], b: readonly Step[]): Pair[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, index) => {
    const [left, right] = [a[index] ?? null, b[index] ?? null];
    return { a: left, b: right, isSame: left !== null && right !== null && nameOf(left) === nameOf(right) };
  });
}

/** Return the positions of the longest common subsequence of steps. */
function common(a: readonly Step[], b: readonly Step[]): (readonly [number, number])[] {
  const [namesA, namesB] = [a.map(nameOf), b.map(nameOf)];
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  const at = (row: number, column: number) => longest[row * width + column] ?? 0;
  for (let row = a.length - 1; row >= 0; row -= 1) {
    for (let column = b.length - 1; column >= 0; column -= 1) {
      longest[row * width + column] =
        namesA[row] === namesB[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const found: (readonly [number, number])[] = [];
  let [row, column] = [0, 0];
  while (row < a.length && column < b.length) {
    if (namesA[row] === namesB[column]) {
      found.push([row, column]);
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return found;
}
