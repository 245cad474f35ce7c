import { Badge, type Tone } from "@/ui/badge";
import type { ChangeType } from "./changes";

const TONES: Record<ChangeType, Tone> = { created: "good", modified: "info", deleted: "bad", renamed: "warn" };

export function ChangeTypeBadge({ type }: { type: ChangeType }) {
  return (
    <Badge tone={TONES[type]} className="px-1.5 text-2xs">
      {type}
    </Badge>
  );
}
