import { Braces, Check, Link2 } from "lucide-react";
import { useState } from "react";
import { Button } from "@/ui/button";
import { useTimelineState } from "../state";

/** Copy a link to an event, see it raw. */
export function Actions({ seq, isRaw, onRaw }: { seq: number; isRaw: boolean; onRaw: () => void }) {
  return (
    <span className="absolute -top-2.5 right-1 z-10 flex items-center rounded-md border bg-raised shadow-sm">
      <CopyLink seq={seq} />
      <Button variant="quiet" size="small" className="size-6 px-0" aria-pressed={isRaw} aria-label="Raw JSON" title="Raw JSON" onClick={onRaw}>
        <Braces className="!size-3.5" />
      </Button>
    </span>
  );
}

function CopyLink({ seq }: { seq: number }) {
  const { sandboxId } = useTimelineState();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(`${location.origin}/sandbox/${encodeURIComponent(sandboxId)}?ev=${seq}`);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  const label = isCopied ? "Copied" : `Copy a link to event ${seq}`;
  return (
    <Button variant="quiet" size="small" className="size-6 px-0" aria-label={label} title={label} onClick={() => void copy()}>
      {isCopied ? <Check className="!size-3.5" /> : <Link2 className="!size-3.5" />}
    </Button>
  );
}
