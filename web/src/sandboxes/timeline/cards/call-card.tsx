import { plain } from "@/ui/text/ansi-text";
import { Dot, type Tone } from "@/ui/badge";
import { useNow } from "@/ui/time/time";
import { ScrollBox } from "@/ui/scroll/scroll-box";
import { duration } from "@/ui/time/format";
import { cut, record, textOf } from "@/sandboxes/event-data";
import { type Call, callOf } from "../call";
import type { Row } from "../grouping";
import { Output } from "../output";
import { useTimelineState } from "../state";
import { Card } from "./card";
import { Edits } from "./edits";

const TONES: Record<Call["state"], Tone> = { running: "info", done: "good", failed: "bad" };
const WORDS: Record<Call["state"], string> = { running: "running", done: "done", failed: "failed" };

/** A tool call with its result. */
export function CallCard({ row }: { row: Row }) {
  const { upTo } = useTimelineState();
  const call = callOf(row, upTo);
  const isCommand = call.tool === "Bash";
  return (
    <Card
      row={row}
      isNested={call.parent !== null}
      // A command's output is its message; other tools report theirs in one sentence, shown below.
      isOpenAtFirst={call.state === "failed" && isCommand}
      mark={
        <span className="mt-[7px] flex">
          <Dot tone={TONES[call.state]} pulse={call.state === "running"} />
          <span className="sr-only">{WORDS[call.state]}</span>
        </span>
      }
      head={
        <span className="flex min-w-0 items-baseline gap-2">
          <span className="shrink-0 font-medium">{call.tool}</span>
          <span className="min-w-0 truncate font-mono text-xs text-soft" title={call.title}>
            {call.title}
          </span>
        </span>
      }
      aside={<Outcome call={call} isLive={upTo === null} />}
      detail={<Detail call={call} />}
    >
      {call.error === "" || isCommand ? null : (
        <p className="mt-0.5 ml-4 line-clamp-6 text-xs whitespace-pre-wrap text-bad [overflow-wrap:anywhere]">{call.error}</p>
      )}
      {call.edits.length > 0 ? <Edits edits={call.edits} /> : null}
    </Card>
  );
}

function Outcome({ call, isLive }: { call: Call; isLive: boolean }) {
  if (call.state === "running") return isLive && call.started !== undefined ? <Elapsed since={call.started.occurred_at} /> : <span>running</span>;
  return (
    <>
      {call.state === "failed" ? (
        <span className="font-medium text-bad">{call.exitCode === null ? "error" : `exit ${call.exitCode}`}</span>
      ) : null}
      {call.durationMs === null ? null : <span title="Duration">{duration(call.durationMs)}</span>}
    </>
  );
}

function Elapsed({ since }: { since: string }) {
  const now = useNow();
  return <span className="text-info">{duration(Math.max(0, now - Date.parse(since)))}</span>;
}

function Detail({ call }: { call: Call }) {
  const input = call.started?.event_data.input;
  const output = cut(call.ended, call.ended?.event_type === "agent.user_tool_result" ? "content" : "output");
  const isShown = call.error !== "" && call.tool !== "Bash" && !output.isCut;
  return (
    <>
      {call.started === undefined ? null : <ToolInput call={call} input={input} />}
      {call.ended === undefined ? (
        <p className="text-xs text-faint">No result yet</p>
      ) : isShown ? null : (
        <Output cut={output} label="Output" />
      )}
    </>
  );
}

/** A command as typed; other input field by field. */
function ToolInput({ call, input }: { call: Call; input: unknown }) {
  const fields = record(input);
  if (call.tool === "Bash" && typeof fields.command === "string") {
    return (
      <ScrollBox isMono label="Command" className="max-h-60">
        <span className="text-faint select-none">$ </span>
        {plain(fields.command)}
      </ScrollBox>
    );
  }
  if (typeof input === "string") return <Output cut={cut(call.started, "input")} label="Input" />;
  const entries = Object.entries(fields);
  if (entries.length === 0) return null;
  return (
    <dl className="grid min-w-0 grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-1 text-xs">
      {entries.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-faint">{plain(name)}</dt>
          <dd className="max-h-60 min-w-0 overflow-auto font-mono whitespace-pre-wrap [overflow-wrap:anywhere]">{plain(textOf(value))}</dd>
        </div>
      ))}
    </dl>
  );
}
