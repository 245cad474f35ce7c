import { CircleCheck, CircleX, Flag } from "lucide-react";
import type { SandboxEvent } from "@/api/client";
import { plain } from "@/ui/text/ansi-text";
import { cn } from "@/ui/cn";
import { Prose } from "@/ui/text/markdown";
import { cut, list, str } from "@/sandboxes/event-data";
import type { Row } from "../grouping";
import { isFailure } from "../kinds";
import { Card } from "./card";
import { Checks } from "./checks";
import { headline, isSuccess } from "./headlines";

/** A step of the whole session: created, started, an iteration, completed, verified, ended. */
export function MilestoneCard({ row }: { row: Row }) {
  const event = row.events[0];
  if (event === undefined) return null;
  const [isBad, isGood] = [isFailure(event), isSuccess(event)];
  const Icon = isBad ? CircleX : isGood ? CircleCheck : Flag;
  const note = noteOf(event);
  const hasDetail = list(event, "checks").length > 0 || str(event, "final_output") !== null;
  return (
    <Card
      row={row}
      className={cn("my-0.5", isBad ? "border-bad/40 bg-bad-soft" : isGood ? "border-good/30 bg-good-soft" : "border-line")}
      isOpenAtFirst={isBad && list(event, "checks").length > 0}
      mark={<Icon aria-hidden className={cn("mt-1 size-3.5 shrink-0", isBad ? "text-bad" : isGood ? "text-good" : "text-faint")} />}
      head={
        <span className="flex flex-wrap items-baseline gap-x-2 [overflow-wrap:anywhere]">
          <span className="font-medium">{plain(headline(event))}</span>
          {note === "" ? null : <span className="text-xs text-soft">{plain(note)}</span>}
        </span>
      }
      detail={hasDetail ? <Detail event={event} /> : undefined}
    />
  );
}

function Detail({ event }: { event: SandboxEvent }) {
  const output = cut(event, "final_output");
  return (
    <>
      {output.text === "" ? null : <Prose>{plain(output.text)}</Prose>}
      <Checks checks={list(event, "checks")} />
    </>
  );
}

function noteOf(event: SandboxEvent): string {
  const commit = str(event, "commit_sha");
  return [
    str(event, "reason") ?? "",
    str(event, "error") ?? "",
    commit === null ? "" : `commit ${commit.slice(0, 10)}`,
    str(event, "notes") ?? "",
  ]
    .filter(Boolean)
    .join(" · ");
}
