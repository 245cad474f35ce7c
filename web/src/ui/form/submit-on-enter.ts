import type { KeyboardEvent } from "react";

/** Submit the form with Ctrl or Command and Enter; in multi-line inputs Enter alone inserts a line. */
export function submitOnEnter(event: KeyboardEvent<HTMLInputElement | HTMLTextAreaElement>): void {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
}
