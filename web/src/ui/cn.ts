import { clsx, type ClassValue } from "clsx";
import { twMerge } from "tailwind-merge";

/** Join class names; the later of two conflicting ones wins. */
export function cn(...classes: ClassValue[]): string {
  return twMerge(clsx(classes));
}
