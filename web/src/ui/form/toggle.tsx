import type { ReactNode } from "react";
import { cn } from "../cn";

/** A choice between a few visible options. */
export function Toggle<T extends string>(props: {
  label: string;
  value: T;
  options: readonly { value: T; label: ReactNode; title?: string }[];
  onChange: (value: T) => void;
}) {
  return (
    <div role="group" aria-label={props.label} className="inline-flex shrink-0 rounded-md border border-line-strong bg-sunken p-0.5">
      {props.options.map((option) => (
        <button
          key={option.value}
          type="button"
          title={option.title}
          aria-pressed={option.value === props.value}
          onClick={() => props.onChange(option.value)}
          className={cn(
            "h-6 rounded px-2 text-xs font-medium whitespace-nowrap",
            option.value === props.value ? "bg-raised text-text shadow-xs" : "text-soft hover:text-text",
          )}
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}
