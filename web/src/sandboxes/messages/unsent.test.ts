import { describe, expect, it } from "vitest";
import type { Message } from "@/api/client";
import { parseMessages } from "./unsent-storage";
import { type UnsentMessages, type UnsentAction, reduceUnsent, pendingMessages } from "./unsent";
import { senderOf } from "./senders";

const after = (...actions: UnsentAction[]) => actions.reduce<UnsentMessages>(reduceUnsent, []);
const sent: UnsentAction = { type: "sent", key: "k", body: { content: "hello" }, after: "m1" };

describe("unsent messages", () => {
  it("keep a rejected message with the reason and the same key", () => {
    expect(after(sent, { type: "rejected", key: "k", error: "too long" })).toMatchObject([{ key: "k", state: "failed", error: "too long" }]);
    expect(after(sent, { type: "rejected", key: "k", error: "x" }, { type: "resent", key: "k" })).toMatchObject([{ key: "k", state: "sending", error: null }]);
  });

  it("are shown until the server lists them", () => {
    const unsent = after(sent, { type: "accepted", key: "k", messageId: "m" });
    expect(pendingMessages(unsent, [])).toHaveLength(1);
    expect(pendingMessages(unsent, [{ message_id: "m" } as Message])).toHaveLength(0);
  });

  it("are not shown twice if the stream reports them before the response", () => {
    const older = { message_id: "m1", content: "hello" } as Message;
    expect(pendingMessages(after(sent), [older])).toHaveLength(1);
    expect(pendingMessages(after(sent), [{ message_id: "m2", content: "hello" } as Message, older])).toHaveLength(0);
  });
});

describe("stored messages", () => {
  it("are restored with the same key, as not sent", () => {
    const refused = after(sent, { type: "rejected", key: "k", error: "too long" });
    expect(parseMessages(JSON.stringify(refused))).toEqual(refused);
    expect(parseMessages(JSON.stringify(after(sent)))).toMatchObject([{ key: "k", state: "failed", error: expect.stringContaining("no duplicate") }]);
  });
});

describe("senders", () => {
  it("are distinguished", () => {
    expect(senderOf("user:a@b.c", "user_message")).toMatchObject({ who: "user", name: "a@b.c" });
    expect(senderOf("guardian", "guardian_nudge").who).toBe("guardian");
    expect(senderOf("agent:omoios-1", "collaboration")).toMatchObject({ who: "agent", name: "Agent omoios-1" });
    expect(senderOf("orchestrator", "system")).toMatchObject({ who: "system", name: "System" });
  });

  it("are named when they send for the platform", () => {
    expect(senderOf("user:a@b.c", "system")).toMatchObject({ who: "system", name: "System, by a@b.c" });
    expect(senderOf("user:a@b.c", "guardian_nudge")).toMatchObject({ who: "guardian", name: "Guardian, by a@b.c" });
  });
});
