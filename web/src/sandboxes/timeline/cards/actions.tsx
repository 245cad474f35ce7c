import { Braces, Link2 } from "lucide-react";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy-button";
import { useTimelineState } from "../state";

/** Buttons to copy a link to an event and to show its JSON. */
export function Actions({ seq, isRaw, onRaw }: { seq: number; isRaw: boolean; onRaw: () => void }) {
  const { sandboxId } = useTimelineState();
  const address = `${location.origin}/sandbox/${encodeURIComponent(sandboxId)}?ev=${seq}`;
  return (
    <span className="absolute -top-0.5 right-full z-10 mr-6 max-sm:right-0 max-sm:mr-0 flex items-center rounded-md border bg-raised shadow-sm">
      <CopyButton text={address} label={`Copy a link to event ${seq}`} icon={<Link2 className="!size-3.5" />} />
      <Button variant="quiet" size="small" className="size-6 px-0" aria-pressed={isRaw} aria-label="Raw JSON" title="Raw JSON" onClick={onRaw}>
        <Braces className="!size-3.5" />
      </Button>
    </span>
  );
}
