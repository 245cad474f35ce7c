/** Return the later of two stream positions. They are numbers joined by dashes, too large for arithmetic. */
export function later(one: string, other: string): string {
  const mine = one.split("-");
  const theirs = other.split("-");
  for (const [place, number] of mine.entries()) {
    const against = theirs[place] ?? "";
    if (number === against) continue;
    const isLater = number.length === against.length ? number > against : number.length > against.length;
    return isLater ? one : other;
  }
  return one;
}
