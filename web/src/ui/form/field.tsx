import { useId, type ComponentProps, type ReactNode } from "react";
import { cn } from "../cn";

const BOX =
  "w-full rounded-md border border-line-strong bg-surface px-2.5 py-1.5 text-sm placeholder:text-faint focus-visible:outline-offset-0 aria-invalid:border-bad";

export function Input({ className, ...rest }: ComponentProps<"input">) {
  return <input className={cn(BOX, "h-8", className)} {...rest} />;
}

export function TextArea({ className, ...rest }: ComponentProps<"textarea">) {
  return <textarea className={cn(BOX, "min-h-20 resize-y", className)} {...rest} />;
}

export function Select({ className, ...rest }: ComponentProps<"select">) {
  return <select className={cn(BOX, "h-8 w-auto pr-7", className)} {...rest} />;
}

/** A label with its input and a hint or error. */
export function Field(props: {
  label: string;
  hint?: string;
  error?: string | null;
  children: (ids: { id: string; "aria-describedby"?: string; "aria-invalid"?: boolean }) => ReactNode;
}) {
  const id = useId();
  const note = props.error ?? props.hint;
  return (
    <div className="space-y-1">
      <label htmlFor={id} className="block text-xs font-medium text-soft">
        {props.label}
      </label>
      {props.children({
        id,
        "aria-describedby": note ? `${id}-note` : undefined,
        "aria-invalid": props.error ? true : undefined,
      })}
      {note ? (
        <p id={`${id}-note`} className={cn("text-xs", props.error ? "text-bad" : "text-faint")}>
          {note}
        </p>
      ) : null}
    </div>
  );
}
