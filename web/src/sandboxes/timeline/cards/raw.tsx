import type { SandboxEvent } from "@/api/client";
import { plain } from "@/ui/text/ansi-text";
import { ScrollBox } from "@/ui/scroll/scroll-box";

const MOST = 40;

/** Events as stored. */
export function RawEvents({ events }: { events: readonly SandboxEvent[] }) {
  return (
    <div className="mt-1.5 ml-4 space-y-1">
      <ScrollBox isMono label="Raw JSON" className="max-h-96">
        {plain(JSON.stringify(events.length === 1 ? events[0] : events.slice(-MOST), null, 2))}
      </ScrollBox>
      {events.length > MOST ? <p className="text-xs text-faint">Last {MOST} of {events.length} events</p> : null}
    </div>
  );
}
