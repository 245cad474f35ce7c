import { Hand, SendHorizontal } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { MessageIn, Sandbox, Task } from "@/api/client";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Select } from "@/ui/form/field";
import { DraftBox, useDraft } from "./draft-box";
import { Ended } from "./ended-notice";
import { Receipts } from "./receipts";
import { useUnsent } from "./use-unsent";

type Delivery = NonNullable<MessageIn["deliver"]>;

const DELIVERIES: readonly { value: Delivery; label: string }[] = [
  { value: "next_tool", label: "At the next tool call" },
  { value: "now", label: "Now (interrupts the turn)" },
  { value: "end_of_turn", label: "At the end of the turn" },
];

/** The selected delivery of each sandbox. It is not stored: a choice from another day must not interrupt a turn. */
const chosen = new Map<string, Delivery>();

/** Send messages to the agent and see their receipts. */
export function Composer({ sandbox, task }: { sandbox: Sandbox; task: Task | undefined }) {
  const unsentState = useUnsent(sandbox.id);
  const isOpen = sandbox.status === "creating" || sandbox.status === "running";
  return (
    <section aria-label="Messages" className="shrink-0 border-t bg-surface">
      <Receipts sandboxId={sandbox.id} unsentState={unsentState} />
      {!isOpen ? (
        <Ended sandbox={sandbox} task={task} />
      ) : sandbox.purpose === "verify" ? (
        <p className="px-3 py-2.5 text-xs text-faint">This sandbox only runs checks. No agent is running here.</p>
      ) : (
        <Writing sandboxId={sandbox.id} onSend={unsentState.send} />
      )}
    </section>
  );
}

function Writing({ sandboxId, onSend }: { sandboxId: string; onSend: (body: MessageIn) => void }) {
  const [text, write] = useDraft(sandboxId);
  const [deliver, setDeliver] = useState<Delivery>(() => chosen.get(sandboxId) ?? "next_tool");
  const isEmpty = text.trim() === "";

  const choose = (next: Delivery) => {
    chosen.set(sandboxId, next);
    setDeliver(next);
  };
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (isEmpty) return;
    onSend({ content: text, message_type: "user_message", deliver });
    write("");
  };
  const interrupt = () => {
    onSend({ content: isEmpty ? "Stop what you are doing and wait for further instructions." : text, message_type: "interrupt" });
    write("");
  };

  return (
    <form onSubmit={send} className="group space-y-1.5 px-3 py-2 max-sm:py-1.5">
      <DraftBox
        label="Message to the agent"
        placeholder="Send a message to the agent"
        text={text}
        onWrite={write}
        className="max-sm:h-9 max-sm:min-h-9 max-sm:group-focus-within:h-16"
      />
      {/* On a phone the timeline needs the space until something is written. */}
      <div className={cn("flex flex-wrap items-center gap-2 max-sm:flex-nowrap", isEmpty && "max-sm:hidden max-sm:group-focus-within:flex")}>
        <Select aria-label="Delivery" value={deliver} onChange={(event) => choose(event.target.value as Delivery)} className="h-7 py-0 text-xs max-sm:min-w-0 max-sm:flex-1">
          {DELIVERIES.map((each) => (
            <option key={each.value} value={each.value}>
              {each.label}
            </option>
          ))}
        </Select>
        <Button size="small" onClick={interrupt} title="Stop the current turn immediately and send the typed message">
          <Hand /> Interrupt
        </Button>
        <span className="ml-auto text-2xs text-faint max-sm:hidden">Ctrl+Enter to send</span>
        <Button type="submit" size="small" variant="primary" className="max-sm:ml-auto" disabled={isEmpty}>
          <SendHorizontal /> Send
        </Button>
      </div>
    </form>
  );
}
