import { Link } from "@tanstack/react-router";
import { OctagonX } from "lucide-react";
import type { Sandbox } from "@/api/client";
import { endReason } from "@/outcome/outcome";
import { SandboxOutcome } from "@/outcome/outcome-label";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { escapeControls } from "@/ui/text/control-characters";
import { cost } from "@/ui/text/numbers";
import { sentence } from "@/ui/text/sentence";
import { Ago } from "@/ui/time/time";
import { SandboxDuration } from "../sandbox-duration";
import { isAlive, titleOf } from "./row";

interface Props {
  sandboxes: readonly Sandbox[];
  projects: ReadonlyMap<string, string>;
  chosen: readonly string[];
  onChoose: (id: string) => void;
  onStop: (sandbox: Sandbox) => void;
}

const HEAD = "px-2 py-1.5 text-left font-medium whitespace-nowrap";
const CELL = "px-2 py-2 align-top";
const WIDE = "max-lg:hidden";

export function SandboxTable(props: Props) {
  return (
    <div className="overflow-hidden rounded-lg border bg-surface">
      <table className="w-full table-fixed border-collapse text-xs lg:table-auto">
        <caption className="sr-only">Sandboxes, newest first</caption>
        <thead className="border-b bg-sunken text-soft">
          <tr>
            <th scope="col" className={`${HEAD} w-8`}>
              <span className="sr-only">Select to compare</span>
            </th>
            <th scope="col" className={`${HEAD} ${WIDE}`}>Outcome</th>
            <th scope="col" className={HEAD}>Sandbox</th>
            <th scope="col" className={`${HEAD} ${WIDE}`}>Provider</th>
            <th scope="col" className={`${HEAD} ${WIDE}`}>Attempt</th>
            <th scope="col" className={`${HEAD} ${WIDE}`}>Started</th>
            <th scope="col" className={`${HEAD} ${WIDE}`}>Duration</th>
            <th scope="col" className={`${HEAD} ${WIDE}`}>Cost</th>
            <th scope="col" className={`${HEAD} ${WIDE}`}>Last activity</th>
            <th scope="col" className={`${HEAD} w-11`}>
              <span className="sr-only">Stop</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {props.sandboxes.map((sandbox) => (
            <Row key={sandbox.id} sandbox={sandbox} {...props} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ sandbox, projects, chosen, onChoose, onStop }: Props & { sandbox: Sandbox }) {
  const title = titleOf(sandbox);
  return (
    <tr className="border-b last:border-b-0 hover:bg-sunken/50">
      <td className={CELL}>
        <input
          type="checkbox"
          className="size-4 accent-accent"
          aria-label={`Select ${sandbox.id} to compare`}
          checked={chosen.includes(sandbox.id)}
          onChange={() => onChoose(sandbox.id)}
        />
      </td>
      <td className={`${CELL} ${WIDE}`}>
        <SandboxOutcome sandbox={sandbox} />
      </td>
      <td className={`${CELL} min-w-0`}>
        <Link to="/sandbox/$sandboxId" params={{ sandboxId: sandbox.id }} title={title ?? undefined} className="line-clamp-2 font-medium [overflow-wrap:anywhere] text-accent hover:underline">
          {title === null ? <span className="font-mono">{sandbox.id}</span> : escapeControls(title)}
        </Link>
        <p className="flex flex-wrap items-center gap-x-2 text-2xs text-faint">
          <span className="text-soft lg:hidden">
            <SandboxOutcome sandbox={sandbox} />
          </span>
          {title === null ? null : <span className="font-mono [overflow-wrap:anywhere]">{sandbox.id}</span>}
          {sandbox.purpose === "verify" ? <Badge tone="info">verification</Badge> : null}
          <span className="[overflow-wrap:anywhere]">{projects.get(sandbox.project_id) ?? ""}</span>
          <span className="lg:hidden">
            attempt {sandbox.attempt} · <Ago at={sandbox.created_at} /> · <SandboxDuration sandbox={sandbox} /> · {cost(sandbox)}
          </span>
        </p>
        {endReason(sandbox) === null ? null : (
          <p className="text-2xs text-soft [overflow-wrap:anywhere]">{sentence(escapeControls(endReason(sandbox) ?? ""))}</p>
        )}
      </td>
      <td className={`${CELL} ${WIDE}`}>{sandbox.provider}</td>
      <td className={`${CELL} ${WIDE} tabular-nums`}>{sandbox.attempt}</td>
      <td className={`${CELL} ${WIDE} whitespace-nowrap`}>
        <Ago at={sandbox.created_at} />
      </td>
      <td className={`${CELL} ${WIDE} whitespace-nowrap`}>
        <SandboxDuration sandbox={sandbox} />
      </td>
      <td className={`${CELL} ${WIDE} tabular-nums`}>{cost(sandbox)}</td>
      <td className={`${CELL} ${WIDE} whitespace-nowrap`}>{sandbox.last_work_at === null ? "–" : <Ago at={sandbox.last_work_at} />}</td>
      <td className={CELL}>
        {isAlive(sandbox) ? (
          <Button
            variant="quiet"
            size="icon"
            className="size-7 hover:text-bad"
            aria-label={`Stop sandbox ${sandbox.id}`}
            title="Stop sandbox"
            disabled={sandbox.status === "stopping"}
            onClick={() => onStop(sandbox)}
          >
            <OctagonX />
          </Button>
        ) : null}
      </td>
    </tr>
  );
}
