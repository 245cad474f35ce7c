import { Hand, MessageCircle, ShieldAlert } from "lucide-react";
import { plain } from "@/ui/text/ansi-text";
import { Badge } from "@/ui/badge";
import { cn } from "@/ui/cn";
import { type Sender, senderOf } from "@/sandboxes/messages/senders";
import { cut, str } from "@/sandboxes/event-data";
import type { Row } from "../grouping";
import { Output } from "../output";
import { Card } from "./card";

const LOOKS: Record<Sender["who"], string> = {
  user: "border-accent/30 bg-accent-soft",
  guardian: "border-warn/40 bg-warn-soft",
  agent: "border-info/30 bg-info-soft",
  system: "border-line bg-sunken",
};

/** A message to the agent, at the time of its delivery. */
export function InjectedCard({ row }: { row: Row }) {
  const event = row.events[0];
  const type = str(event, "message_type") ?? "user_message";
  const sender = senderOf(str(event, "sender") ?? "", type);
  const content = cut(event, "content");
  const Icon = sender.who === "guardian" ? ShieldAlert : MessageCircle;
  return (
    <Card
      row={row}
      className={cn("my-0.5", LOOKS[sender.who])}
      mark={<Icon aria-hidden className="mt-1 size-3.5 shrink-0" />}
      head={
        <span className="flex flex-wrap items-baseline gap-x-2">
          <span className="font-medium [overflow-wrap:anywhere]">{plain(sender.name)}</span>
          <span className="text-xs text-soft">{type === "interrupt" ? "interrupted the agent" : "sent a message to the agent"}</span>
        </span>
      }
      detail={!content.isCut ? undefined : <Output cut={content} label="Full message" />}
    >
      <p className="mt-0.5 ml-6 whitespace-pre-wrap [overflow-wrap:anywhere]">{plain(content.text)}</p>
    </Card>
  );
}

export function InterruptedCard({ row }: { row: Row }) {
  const reason = str(row.events[0], "reason");
  return (
    <Card
      row={row}
      mark={<Hand aria-hidden className="mt-1 size-3.5 shrink-0 text-warn" />}
      head={
        <span>
          <Badge tone="warn">Interrupted</Badge> {reason === null ? null : <span className="text-soft">{plain(reason)}</span>}
        </span>
      }
    />
  );
}
