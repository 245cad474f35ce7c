import { useQuery } from "@tanstack/react-query";
import { Download, RefreshCw } from "lucide-react";
import { useMemo, useState } from "react";
import { errorMessage, fetchText, type Sandbox } from "@/api/client";
import { escapeControls } from "@/ui/text/control-characters";
import { Button, buttonStyle } from "@/ui/button";
import { Facts } from "@/ui/facts";
import { Loading, LoadError } from "@/ui/loading/placeholders";
import { sentence } from "@/ui/text/sentence";
import { VirtualRows } from "@/ui/scroll/virtual-rows";

interface Line {
  number: number;
  text: string;
}

/** The events as text, as `omoi logs` prints them. */
export function Logs({ sandbox }: { sandbox: Sandbox }) {
  const [isOpen, setOpen] = useState(false);
  const path = `/api/v1/sandboxes/${encodeURIComponent(sandbox.id)}/logs`;
  const log = useQuery({
    queryKey: ["logs", sandbox.id, sandbox.ended_at],
    enabled: isOpen,
    staleTime: Infinity,
    gcTime: 30_000,
    queryFn: ({ signal }) => fetchText(`${path}?tail=5000`, signal),
  });
  const lines = useMemo<Line[]>(
    () => (log.data ?? "").replace(/\n$/, "").split("\n").map((text, index) => ({ number: index + 1, text: escapeControls(text) })),
    [log.data],
  );
  return (
    <Facts
      title="Log"
      action={
        <span className="flex items-center gap-1">
          {isOpen ? (
            <Button variant="quiet" size="small" disabled={log.isFetching} onClick={() => void log.refetch()}>
              <RefreshCw /> Refresh log
            </Button>
          ) : (
            <Button size="small" onClick={() => setOpen(true)}>
              Show log
            </Button>
          )}
          <a href={`${path}?tail=100000`} download={`${sandbox.id}.log`} className={buttonStyle({ variant: "quiet", size: "small" })}>
            <Download aria-hidden /> Download log
          </a>
        </span>
      }
    >
      {!isOpen ? (
        <p className="text-xs text-soft">Events as plain text. This view shows the latest 5,000 events; the file has all of them.</p>
      ) : log.isPending ? (
        <Loading what="the log" />
      ) : log.data === undefined ? (
        <LoadError what="The log" error={log.error} retry={() => void log.refetch()} />
      ) : (
        <div className="-m-3 h-96">
          {log.isRefetchError ? (
            <p role="alert" className="px-3 py-1 text-xs text-bad">
              {sentence(errorMessage(log.error))}
            </p>
          ) : null}
          <VirtualRows
            label="Log"
            rows={lines}
            keyOf={(line) => line.number}
            heightOf={() => 18}
            className="rounded-b-lg bg-sunken"
            render={(line) => (
              <pre className="px-3 font-mono text-2xs leading-[18px] [overflow-wrap:anywhere] whitespace-pre-wrap">{line.text || " "}</pre>
            )}
          />
        </div>
      )}
    </Facts>
  );
}
