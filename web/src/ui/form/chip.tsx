import type { ReactNode } from "react";
import { cn } from "../cn";

/** A filter that can be switched on and off. */
export function Chip(props: { isOn: boolean; onPress: () => void; isBad?: boolean; children: ReactNode }) {
  return (
    <button
      type="button"
      aria-pressed={props.isOn}
      onClick={props.onPress}
      className={cn(
        "inline-flex h-6.5 shrink-0 items-center whitespace-nowrap gap-1.5 rounded-full border px-2 text-xs",
        props.isOn ? "border-accent bg-accent-soft text-accent" : "bg-surface text-soft hover:bg-sunken hover:text-text",
        props.isBad && !props.isOn && "border-bad/40 text-bad hover:text-bad",
      )}
    >
      {props.children}
    </button>
  );
}
