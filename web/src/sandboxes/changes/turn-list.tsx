import { Link } from "@tanstack/react-router";
import { ListTree } from "lucide-react";
import { buttonStyle } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Ago } from "@/ui/time/time";
import { FileCard } from "./file-card";
import { byTurn, type Change } from "./changes";
import { Lines } from "./lines";

/** Every edit, grouped by turn. */
export function TurnList(props: {
  sandboxId: string;
  changes: readonly Change[];
  open: Change | null;
  onOpen: (change: Change) => void;
}) {
  return (
    <ol className="space-y-4">
      {byTurn(props.changes).map((turn) => (
        <li key={turn.changes[0]?.seq} className="[contain-intrinsic-size:auto_8rem] [content-visibility:auto]">
          <h2 className="mb-1.5 flex items-center justify-between gap-2 text-xs font-medium text-soft">
            <span>
              {turn.turn === null ? "Before the first turn" : `Turn ${turn.turn}`} · {turn.changes.length}{" "}
              {turn.changes.length === 1 ? "change" : "changes"}
            </span>
            <Lines
              added={turn.changes.reduce((sum, change) => sum + change.added, 0)}
              removed={turn.changes.reduce((sum, change) => sum + change.removed, 0)}
              binary={false}
            />
          </h2>
          <ul className="space-y-1.5">
            {turn.changes.map((change) => (
              <li key={change.seq}>
                <FileCard
                  file={change}
                  isOpen={props.open?.seq === change.seq}
                  onOpen={() => props.onOpen(change)}
                  note={
                    <>
                      {change.tool === null ? null : <span>{change.tool}</span>}
                      <Ago at={change.at} />
                    </>
                  }
                  action={<EventLink sandboxId={props.sandboxId} change={change} />}
                />
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ol>
  );
}

/** A link to the event in the timeline. */
function EventLink({ sandboxId, change }: { sandboxId: string; change: Change }) {
  return (
    <Link
      to="/sandbox/$sandboxId"
      params={{ sandboxId }}
      search={(before) => ({ ...before, view: undefined, ev: change.seq })}
      className={cn(buttonStyle({ variant: "quiet", size: "icon" }), "m-1 size-6")}
      aria-label={`Show event ${change.seq} in the timeline`}
      title="Show in the timeline"
    >
      <ListTree />
    </Link>
  );
}
