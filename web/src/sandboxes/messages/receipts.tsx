import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Message } from "@/api/client";
import { plain } from "@/ui/text/ansi-text";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Clock } from "@/ui/time/time";
import { ScrollBox } from "@/ui/scroll/scroll-box";
import { type UnsentMessage, pendingMessages } from "./unsent";
import { messagesQuery } from "./queries";
import { type Sender, senderOf } from "./senders";
import type { UnsentMessagesState } from "./use-unsent";

const SHOWN = 2;

const EDGES: Record<Sender["who"], string> = {
  user: "border-l-accent",
  guardian: "border-l-warn bg-warn-soft",
  agent: "border-l-info",
  system: "border-l-line-strong bg-sunken",
};

/** Messages to the agent with their receipts: queued, delivered, seen. */
export function Receipts({ sandboxId, unsentState }: { sandboxId: string; unsentState: UnsentMessagesState }) {
  const { data } = useQuery(messagesQuery(sandboxId));
  const [isAll, setAll] = useState(false);
  const messages = data?.items ?? [];
  const pending = pendingMessages(unsentState.unsent, messages);
  const visible = (isAll ? messages : messages.slice(0, SHOWN)).toReversed();
  if (messages.length === 0 && pending.length === 0) return null;
  return (
    <ScrollBox label="Messages to the agent" className="max-h-52 space-y-1 px-3 pt-2">
      {messages.length > SHOWN ? (
        <Button size="small" variant="quiet" className="h-6" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
          {isAll ? "Show latest only" : `${messages.length - SHOWN} earlier ${messages.length - SHOWN === 1 ? "message" : "messages"}`}
        </Button>
      ) : null}
      <ul className="space-y-1" aria-live="polite">
        {visible.map((message) => (
          <Receipt key={message.message_id} message={message} />
        ))}
        {pending.map((message) => (
          <PendingMessage key={message.key} message={message} unsentState={unsentState} />
        ))}
      </ul>
    </ScrollBox>
  );
}

function Receipt({ message }: { message: Message }) {
  const sender = senderOf(message.sender, message.message_type);
  return (
    <li className={cn("flex min-w-0 flex-wrap items-baseline gap-x-2 border-l-2 py-0.5 pl-2 text-xs", EDGES[sender.who])}>
      {sender.who === "user" ? null : <Badge tone={sender.tone}>{plain(sender.name)}</Badge>}
      {message.message_type === "interrupt" ? <Badge tone="warn">Interrupt</Badge> : null}
      <span className="line-clamp-2 min-w-0 flex-1 basis-40 [overflow-wrap:anywhere]" title={message.content}>
        {plain(message.content)}
      </span>
      <span className="flex shrink-0 gap-1.5 text-2xs text-faint tabular-nums">
        <Step name="queued" at={message.queued_at} />
        <Step name="delivered" at={message.delivered_at} />
        <Step name="seen" at={message.seen_at} />
        {message.redeliveries > 0 ? (
          <span title="The conversation that contained it was lost, so it was queued again">redelivered</span>
        ) : null}
      </span>
    </li>
  );
}

function Step({ name, at }: { name: string; at: string | null }) {
  if (at === null) return <span>{name} …</span>;
  return (
    <span className={name === "seen" ? "text-good" : "text-soft"}>
      {name}{" "}
      <Clock at={at} />
    </span>
  );
}

function PendingMessage({ message, unsentState }: { message: UnsentMessage; unsentState: UnsentMessagesState }) {
  const isFailed = message.state === "failed";
  return (
    <li className={cn("flex min-w-0 flex-wrap items-baseline gap-2 border-l-2 py-0.5 pl-2 text-xs", isFailed ? "border-l-bad" : "border-l-line-strong")}>
      <span className="line-clamp-2 min-w-0 flex-1 basis-40 [overflow-wrap:anywhere]" title={message.body.content}>
        {message.body.content}
      </span>
      {isFailed ? (
        <span role="alert" className="flex flex-wrap items-center gap-1 text-bad">
          Not sent: {message.error}
          <Button size="small" className="h-6" onClick={() => unsentState.resend(message)}>
            Send again
          </Button>
          <Button size="small" variant="quiet" className="h-6" onClick={() => unsentState.discard(message)}>
            Discard
          </Button>
        </span>
      ) : (
        <span className="text-2xs text-faint">{message.state === "sent" ? "queued" : "sending…"}</span>
      )}
    </li>
  );
}
