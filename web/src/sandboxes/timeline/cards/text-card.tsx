import { Brain, MessageSquareText } from "lucide-react";
import { plain } from "@/ui/text/ansi-text";
import { Prose } from "@/ui/text/markdown";
import { cut, str } from "@/sandboxes/event-data";
import type { Row } from "../grouping";
import { Output } from "../output";
import { Card } from "./card";

/** A reply of the model. */
export function TextCard({ row }: { row: Row }) {
  const event = row.events[0];
  const text = cut(event, "text");
  return (
    <Card
      row={row}
      isNested={str(event, "parent_tool_use_id") !== null}
      mark={<MessageSquareText aria-hidden className="mt-1 size-3.5 shrink-0 text-accent" />}
      head={<Prose>{plain(text.text)}</Prose>}
    >
      {!text.isCut ? null : <Output cut={text} label="Full text" />}
    </Card>
  );
}

/** The model's thinking, collapsed. */
export function ThinkingCard({ row }: { row: Row }) {
  const event = row.events[0];
  const text = cut(event, "text");
  return (
    <Card
      row={row}
      className="text-faint"
      isNested={str(event, "parent_tool_use_id") !== null}
      mark={<Brain aria-hidden className="mt-1 size-3.5 shrink-0" />}
      head={
        <span className="flex min-w-0 gap-2">
          <span className="shrink-0">Thinking</span>
          <span className="min-w-0 truncate text-xs leading-5.5 italic">{plain(text.text.slice(0, 300).replace(/\s+/g, " "))}</span>
        </span>
      }
      detail={
        <div className="border-l-2 pl-3 text-soft">
          <Prose>{plain(text.text)}</Prose>
          {!text.isCut ? null : <Output cut={text} label="Full text" />}
        </div>
      }
    />
  );
}
