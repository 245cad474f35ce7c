import type { ReactNode } from "react";
import { cn } from "../cn";

const MONO = "rounded-md bg-sunken px-2.5 py-2 font-mono text-xs leading-5 whitespace-pre-wrap [overflow-wrap:anywhere]";

/** A box that scrolls, also by keyboard. */
export function ScrollBox(props: { label: string; className?: string; isMono?: boolean; children: ReactNode }) {
  return (
    <div
      role="group"
      aria-label={props.label}
      // What scrolls must take the focus, or the keyboard cannot scroll it.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      className={cn("overflow-auto", props.isMono && MONO, props.className)}
    >
      {props.children}
    </div>
  );
}
