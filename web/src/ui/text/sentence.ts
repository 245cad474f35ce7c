/** Words as a sentence: a capital to begin with, a full stop at the end. */
export function sentence(words: string): string {
  const begun = words.charAt(0).toUpperCase() + words.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
