/** Of two positions in the stream the later one. They are numbers joined by dashes, too large to count with. */
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
