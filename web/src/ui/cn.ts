import { clsx, type ClassValue } from "clsx";
import { twMerge } from "tailwind-merge";

/** Class names joined; of two that contradict, the later wins. */
export function cn(...classes: ClassValue[]): string {
  return twMerge(clsx(classes));
}
