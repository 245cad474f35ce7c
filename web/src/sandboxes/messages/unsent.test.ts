import { describe, expect, it } from "vitest";
import type { Message } from "@/api/client";
import { parseMessages } from "./unsent-storage";
import { type UnsentMessages, type Posting, post, pendingMessages } from "./unsent";
import { senderOf } from "./senders";

const after = (...postings: Posting[]) => postings.reduce<UnsentMessages>(post, []);
const sent: Posting = { type: "sent", key: "k", body: { content: "hello" }, after: "m1" };

describe("the outbox", () => {
  it("keeps a letter that was refused, with the reason, under the same key", () => {
    expect(after(sent, { type: "refused", key: "k", error: "too long" })).toMatchObject([{ key: "k", state: "failed", error: "too long" }]);
    expect(after(sent, { type: "refused", key: "k", error: "x" }, { type: "again", key: "k" })).toMatchObject([{ key: "k", state: "sending", error: null }]);
  });

  it("shows a letter until the server's list does", () => {
    const outbox = after(sent, { type: "taken", key: "k", messageId: "m" });
    expect(pendingMessages(outbox, [])).toHaveLength(1);
    expect(pendingMessages(outbox, [{ message_id: "m" } as Message])).toHaveLength(0);
  });

  it("does not show a letter twice when the stream tells of it before the answer comes", () => {
    const older = { message_id: "m1", content: "hello" } as Message;
    expect(pendingMessages(after(sent), [older])).toHaveLength(1);
    expect(pendingMessages(after(sent), [{ message_id: "m2", content: "hello" } as Message, older])).toHaveLength(0);
  });
});

describe("letters that were kept", () => {
  it("come back under the same key, as not sent", () => {
    const refused = after(sent, { type: "refused", key: "k", error: "too long" });
    expect(parseMessages(JSON.stringify(refused))).toEqual(refused);
    expect(parseMessages(JSON.stringify(after(sent)))).toMatchObject([{ key: "k", state: "failed", error: expect.stringContaining("no duplicate") }]);
  });
});

describe("senders", () => {
  it("are told apart", () => {
    expect(senderOf("user:a@b.c", "user_message")).toMatchObject({ who: "user", name: "a@b.c" });
    expect(senderOf("guardian", "guardian_nudge").who).toBe("guardian");
    expect(senderOf("agent:omoios-1", "collaboration")).toMatchObject({ who: "agent", name: "Agent omoios-1" });
    expect(senderOf("orchestrator", "system")).toMatchObject({ who: "system", name: "System" });
  });

  it("are named where they speak for the platform", () => {
    expect(senderOf("user:a@b.c", "system")).toMatchObject({ who: "system", name: "System, by a@b.c" });
    expect(senderOf("user:a@b.c", "guardian_nudge")).toMatchObject({ who: "guardian", name: "Guardian, by a@b.c" });
  });
});
