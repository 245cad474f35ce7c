import { ArrowDown } from "lucide-react";
import { Button } from "../button";

/** A button that returns to the end of a list. */
export function JumpButton({ fresh, onJump }: { fresh: number; onJump: () => void }) {
  return (
    <Button
      size="small"
      className="absolute bottom-3 left-1/2 z-10 -translate-x-1/2 rounded-full shadow-md"
      onClick={onJump}
    >
      <ArrowDown /> Jump to latest{fresh > 0 ? ` (${fresh} new)` : ""}
    </Button>
  );
}
