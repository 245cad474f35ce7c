import { count } from "@/ui/text/numbers";

/** The number of added and removed lines. */
export function Lines({ added, removed, binary }: { added: number; removed: number; binary: boolean }) {
  if (binary) return <span className="shrink-0 text-xs text-soft">binary</span>;
  return (
    <span className="shrink-0 font-mono text-xs tabular-nums">
      <span className="text-good">
        <span aria-hidden>+</span>
        {count(added)}
        <span className="sr-only"> lines added</span>
      </span>{" "}
      <span className="text-bad">
        <span aria-hidden>−</span>
        {count(removed)}
        <span className="sr-only"> lines removed</span>
      </span>
    </span>
  );
}
