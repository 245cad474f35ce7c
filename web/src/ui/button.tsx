import { cva, type VariantProps } from "class-variance-authority";
import type { ComponentProps } from "react";
import { cn } from "./cn";

const look = cva(
  "inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md font-medium whitespace-nowrap transition-colors disabled:cursor-not-allowed disabled:opacity-55 [&_svg]:size-4 [&_svg]:shrink-0",
  {
    variants: {
      variant: {
        primary: "bg-accent text-on-accent hover:bg-accent/90",
        plain: "border border-line-strong bg-raised hover:bg-sunken",
        quiet: "text-soft hover:bg-sunken hover:text-text",
        danger: "border border-bad/40 bg-raised text-bad hover:bg-bad-soft",
      },
      size: {
        normal: "h-8 px-3 text-sm",
        small: "h-7 px-2 text-xs",
        icon: "size-8",
      },
    },
    defaultVariants: { variant: "plain", size: "normal" },
  },
);

export type ButtonProps = ComponentProps<"button"> & VariantProps<typeof look>;

export function Button({ variant, size, className, type = "button", ...rest }: ButtonProps) {
  return <button type={type} className={cn(look({ variant, size }), className)} {...rest} />;
}

/** The same style for links. */
export { look as buttonStyle };
