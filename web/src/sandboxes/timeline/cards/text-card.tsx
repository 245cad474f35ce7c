import { Brain, MessageSquareText } from "lucide-react";
import type { Row } from "../grouping";
import { plain } from "../ansi";
import { ModelText } from "../markdown";
import { Output } from "../output";
import { cut, str } from "../payload";
import { Card } from "./card";

/** What the model says. */
export function TextCard({ row }: { row: Row }) {
  const event = row.events[0];
  const text = cut(event, "text");
  return (
    <Card
      row={row}
      isNested={str(event, "parent_tool_use_id") !== null}
      mark={<MessageSquareText aria-hidden className="mt-1 size-3.5 shrink-0 text-accent" />}
      head={<ModelText text={text.text} />}
      detail={text.size === null ? undefined : <Output cut={text} label="Whole text" />}
    />
  );
}

/** What the model thinks, folded. */
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
          <ModelText text={text.text} />
          {text.size === null ? null : <Output cut={text} label="Whole text" />}
        </div>
      }
    />
  );
}
