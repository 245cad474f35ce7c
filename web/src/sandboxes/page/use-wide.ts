import { useMedia } from "@/ui/hooks/use-media";

/** Whether two panes fit side by side. */
export function useWide(): boolean {
  return useMedia("(min-width: 1100px)");
}
