import type { Message, MessageIn } from "@/api/client";

/** A message that is being sent or was rejected. */
export interface UnsentMessage {
  /** The idempotency key: sending it again creates no duplicate. */
  key: string;
  body: MessageIn;
  state: "sending" | "failed" | "sent";
  error: string | null;
  messageId: string | null;
  /** The newest message when this was sent; ids grow with time. */
  after: string | null;
}

export type UnsentMessages = readonly UnsentMessage[];

export type Posting =
  | { type: "sent"; key: string; body: MessageIn; after: string | null }
  | { type: "taken"; key: string; messageId: string }
  | { type: "refused"; key: string; error: string }
  | { type: "again"; key: string }
  | { type: "dropped"; key: string };

export function post(outbox: UnsentMessages, posting: Posting): UnsentMessages {
  const change = (fields: Partial<UnsentMessage>) =>
    outbox.map((letter) => (letter.key === posting.key ? { ...letter, ...fields } : letter));
  switch (posting.type) {
    case "sent":
      return [
        ...outbox,
        { key: posting.key, body: posting.body, state: "sending", error: null, messageId: null, after: posting.after },
      ];
    case "taken":
      return change({ state: "sent", messageId: posting.messageId, error: null });
    case "refused":
      return change({ state: "failed", error: posting.error });
    case "again":
      return change({ state: "sending", error: null });
    case "dropped":
      return outbox.filter((letter) => letter.key !== posting.key);
  }
}

/**
 * Return the messages that the server's list does not contain yet. The stream may report one before its response
 * arrives.
 */
export function pendingMessages(outbox: UnsentMessages, messages: readonly Message[]): UnsentMessages {
  const known = new Set(messages.map((message) => message.message_id));
  const isTold = ({ body, after }: UnsentMessage) =>
    messages.some((message) => message.content === body.content && (after === null || message.message_id > after));
  return outbox.filter((letter) => {
    if (letter.messageId !== null) return !known.has(letter.messageId);
    return letter.state === "failed" || !isTold(letter);
  });
}
