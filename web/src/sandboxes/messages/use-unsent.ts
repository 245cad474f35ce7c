import { useQueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { type MessageIn, newKey, reason } from "@/api/client";
import type { Letter, Outbox } from "./unsent";
import { changeOutbox, outboxOf, watchOutboxes } from "./unsent-store";
import { messagesQuery, sendMessage } from "./queries";

export interface Posting {
  outbox: Outbox;
  send(body: MessageIn): void;
  again(letter: Letter): void;
  drop(letter: Letter): void;
}

/** Sends messages; what could not be sent stays, in this browser too, until it is sent again or dropped. */
export function useOutbox(sandboxId: string): Posting {
  const queries = useQueryClient();
  const outbox = useSyncExternalStore(watchOutboxes, () => outboxOf(sandboxId));

  async function deliver(key: string, body: MessageIn) {
    try {
      const queued = await sendMessage(sandboxId, body, key);
      changeOutbox(sandboxId, { type: "taken", key, messageId: queued.message_id });
      await queries.invalidateQueries({ queryKey: ["messages", sandboxId] });
    } catch (error) {
      changeOutbox(sandboxId, { type: "refused", key, error: reason(error) });
    }
  }

  return {
    outbox,
    send(body) {
      const key = newKey();
      const { items } = queries.getQueryData(messagesQuery(sandboxId).queryKey) ?? { items: [] };
      changeOutbox(sandboxId, { type: "sent", key, body, after: items[0]?.message_id ?? null });
      void deliver(key, body);
    },
    again(letter) {
      changeOutbox(sandboxId, { type: "again", key: letter.key });
      void deliver(letter.key, letter.body);
    },
    drop: (letter) => changeOutbox(sandboxId, { type: "dropped", key: letter.key }),
  };
}
