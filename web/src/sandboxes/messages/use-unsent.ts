import { useQueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { type MessageIn, newIdempotencyKey, errorMessage } from "@/api/client";
import type { UnsentMessage, UnsentMessages } from "./unsent";
import { dispatchUnsent, unsentFor, watchUnsent } from "./unsent-store";
import { messagesQuery, sendMessage } from "./queries";

export interface UnsentMessagesState {
  unsent: UnsentMessages;
  send(body: MessageIn): void;
  resend(message: UnsentMessage): void;
  discard(message: UnsentMessage): void;
}

/** Send messages. Those that cannot be sent are kept, in this browser too, until they are sent again or discarded. */
export function useUnsent(sandboxId: string): UnsentMessagesState {
  const queries = useQueryClient();
  const unsent = useSyncExternalStore(watchUnsent, () => unsentFor(sandboxId));

  async function deliver(key: string, body: MessageIn) {
    try {
      const queued = await sendMessage(sandboxId, body, key);
      dispatchUnsent(sandboxId, { type: "accepted", key, messageId: queued.message_id });
      await queries.invalidateQueries({ queryKey: ["messages", sandboxId] });
    } catch (error) {
      dispatchUnsent(sandboxId, { type: "rejected", key, error: errorMessage(error) });
    }
  }

  return {
    unsent,
    send(body) {
      const key = newIdempotencyKey();
      const { items } = queries.getQueryData(messagesQuery(sandboxId).queryKey) ?? { items: [] };
      dispatchUnsent(sandboxId, { type: "sent", key, body, after: items[0]?.message_id ?? null });
      void deliver(key, body);
    },
    resend(message) {
      dispatchUnsent(sandboxId, { type: "resent", key: message.key });
      void deliver(message.key, message.body);
    },
    discard: (message) => dispatchUnsent(sandboxId, { type: "discarded", key: message.key }),
  };
}
