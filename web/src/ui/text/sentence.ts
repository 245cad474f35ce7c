/** Return the text with a capital. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Return the text as a sentence: with a capital and a full stop. */
export function sentence(text: string): string {
  const shown = capitalized(text);
  return /[.!?…]$/.test(shown) ? shown : `${shown}.`;
}
