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

export type UnsentAction =
  | { type: "sent"; key: string; body: MessageIn; after: string | null }
  | { type: "accepted"; key: string; messageId: string }
  | { type: "rejected"; key: string; error: string }
  | { type: "resent"; key: string }
  | { type: "discarded"; key: string };

export function reduceUnsent(unsent: UnsentMessages, action: UnsentAction): UnsentMessages {
  const change = (fields: Partial<UnsentMessage>) =>
    unsent.map((message) => (message.key === action.key ? { ...message, ...fields } : message));
  switch (action.type) {
    case "sent":
      return [
        ...unsent,
        { key: action.key, body: action.body, state: "sending", error: null, messageId: null, after: action.after },
      ];
    case "accepted":
      return change({ state: "sent", messageId: action.messageId, error: null });
    case "rejected":
      return change({ state: "failed", error: action.error });
    case "resent":
      return change({ state: "sending", error: null });
    case "discarded":
      return unsent.filter((message) => message.key !== action.key);
  }
}

/**
 * Return the messages that the server's list does not contain yet. The stream may report one before its response
 * arrives.
 */
export function pendingMessages(unsent: UnsentMessages, messages: readonly Message[]): UnsentMessages {
  const known = new Set(messages.map((message) => message.message_id));
  const isListed = ({ body, after }: UnsentMessage) =>
    messages.some((message) => message.content === body.content && (after === null || message.message_id > after));
  return unsent.filter((message) => {
    if (message.messageId !== null) return !known.has(message.messageId);
    return message.state === "failed" || !isListed(message);
  });
}
