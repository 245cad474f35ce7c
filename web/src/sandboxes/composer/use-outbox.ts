import { useQueryClient } from "@tanstack/react-query";
import { useReducer } from "react";
import { type MessageIn, newKey, reason } from "@/api/client";
import { type Letter, type Outbox, post } from "./outbox";
import { messagesQuery, sendMessage } from "./queries";

export interface Posting {
  outbox: Outbox;
  send(body: MessageIn): void;
  again(letter: Letter): void;
  drop(letter: Letter): void;
}

/** Sends messages; what could not be sent stays until it is sent again or dropped. */
export function useOutbox(sandboxId: string): Posting {
  const queries = useQueryClient();
  const [outbox, dispatch] = useReducer(post, []);

  async function deliver(key: string, body: MessageIn) {
    try {
      const queued = await sendMessage(sandboxId, body, key);
      dispatch({ type: "taken", key, messageId: queued.message_id });
      await queries.invalidateQueries({ queryKey: ["messages", sandboxId] });
    } catch (error) {
      dispatch({ type: "refused", key, error: reason(error) });
    }
  }

  return {
    outbox,
    send(body) {
      const key = newKey();
      const { items } = queries.getQueryData(messagesQuery(sandboxId).queryKey) ?? { items: [] };
      dispatch({ type: "sent", key, body, after: items[0]?.message_id ?? null });
      void deliver(key, body);
    },
    again(letter) {
      dispatch({ type: "again", key: letter.key });
      void deliver(letter.key, letter.body);
    },
    drop: (letter) => dispatch({ type: "dropped", key: letter.key }),
  };
}
