import { useQuery } from "@tanstack/react-query";
import { Download, RefreshCw } from "lucide-react";
import { useMemo, useState } from "react";
import { fetchText, type Sandbox } from "@/api/client";
import { writeOut } from "@/ui/text/control-characters";
import { Button, buttonLook } from "@/ui/button";
import { Facts } from "@/ui/facts";
import { Loading, Trouble } from "@/ui/loading/placeholders";
import { VirtualRows } from "@/ui/scroll/virtual-rows";

interface Line {
  number: number;
  text: string;
}

/** The run as text, line by line, the way `omoi logs` prints it. */
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
    () => (log.data ?? "").replace(/\n$/, "").split("\n").map((text, index) => ({ number: index + 1, text: writeOut(text) })),
    [log.data],
  );
  return (
    <Facts
      title="Log"
      action={
        <span className="flex items-center gap-1">
          {isOpen ? (
            <Button variant="quiet" size="small" disabled={log.isFetching} onClick={() => void log.refetch()}>
              <RefreshCw /> Refresh
            </Button>
          ) : (
            <Button size="small" onClick={() => setOpen(true)}>
              Show
            </Button>
          )}
          <a href={`${path}?tail=100000`} download={`${sandbox.id}.log`} className={buttonLook({ variant: "quiet", size: "small" })}>
            <Download aria-hidden /> Download
          </a>
        </span>
      }
    >
      {!isOpen ? (
        <p className="text-xs text-soft">Everything that happened as lines of text, the newest 5,000 events here, all of it as a file.</p>
      ) : log.isPending ? (
        <Loading what="the log" />
      ) : log.data === undefined ? (
        <Trouble what="The log" error={log.error} retry={() => void log.refetch()} />
      ) : (
        <div className="-m-3 h-96">
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
