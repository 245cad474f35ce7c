import { useQueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { type MessageIn, newIdempotencyKey, errorMessage } from "@/api/client";
import type { UnsentMessage, UnsentMessages } from "./unsent";
import { dispatchUnsent, unsentFor, watchUnsent } from "./unsent-store";
import { messagesQuery, sendMessage } from "./queries";

export interface Posting {
  outbox: UnsentMessages;
  send(body: MessageIn): void;
  again(letter: UnsentMessage): void;
  drop(letter: UnsentMessage): void;
}

/** Send messages. Those that cannot be sent are kept, in this browser too, until they are sent again or discarded. */
export function useUnsent(sandboxId: string): Posting {
  const queries = useQueryClient();
  const outbox = useSyncExternalStore(watchUnsent, () => unsentFor(sandboxId));

  async function deliver(key: string, body: MessageIn) {
    try {
      const queued = await sendMessage(sandboxId, body, key);
      dispatchUnsent(sandboxId, { type: "taken", key, messageId: queued.message_id });
      await queries.invalidateQueries({ queryKey: ["messages", sandboxId] });
    } catch (error) {
      dispatchUnsent(sandboxId, { type: "refused", key, error: errorMessage(error) });
    }
  }

  return {
    outbox,
    send(body) {
      const key = newIdempotencyKey();
      const { items } = queries.getQueryData(messagesQuery(sandboxId).queryKey) ?? { items: [] };
      dispatchUnsent(sandboxId, { type: "sent", key, body, after: items[0]?.message_id ?? null });
      void deliver(key, body);
    },
    again(letter) {
      dispatchUnsent(sandboxId, { type: "again", key: letter.key });
      void deliver(letter.key, letter.body);
    },
    drop: (letter) => dispatchUnsent(sandboxId, { type: "dropped", key: letter.key }),
  };
}
