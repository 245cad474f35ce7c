import type { KeyboardEvent } from "react";

/** In fields of several lines Enter is a new line; with Ctrl or Command it sends the form, as in every other field. */
export function submitOnEnter(event: KeyboardEvent<HTMLInputElement | HTMLTextAreaElement>): void {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
}
