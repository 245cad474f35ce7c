import type { ComponentProps } from "react";
import { cn } from "./cn";

export type Tone = "neutral" | "good" | "bad" | "warn" | "info" | "accent";

const TONES: Record<Tone, string> = {
  neutral: "bg-sunken text-soft",
  good: "bg-good-soft text-good",
  bad: "bg-bad-soft text-bad",
  warn: "bg-warn-soft text-warn",
  info: "bg-info-soft text-info",
  accent: "bg-accent-soft text-accent",
};

export function Badge({ tone = "neutral", className, ...rest }: ComponentProps<"span"> & { tone?: Tone }) {
  return (
    <span
      data-tone={tone}
      className={cn(
        "inline-flex items-center gap-1 rounded-full px-2 py-px text-xs font-medium whitespace-nowrap",
        TONES[tone],
        className,
      )}
      {...rest}
    />
  );
}

/** A dot in the colour of a status; a label must accompany it. */
export function Dot({ tone, pulse = false }: { tone: Tone; pulse?: boolean }) {
  const colours: Record<Tone, string> = {
    neutral: "bg-faint",
    good: "bg-good",
    bad: "bg-bad",
    warn: "bg-warn",
    info: "bg-info",
    accent: "bg-accent",
  };
  return <span aria-hidden data-tone={tone} className={cn("size-2 shrink-0 rounded-full", colours[tone], pulse && "animate-pulse")} />;
}
