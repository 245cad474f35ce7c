import { expect, it } from "vitest";
import type { Sandbox, Ticket } from "@/api/client";
import { OUTCOME_STYLES, outcomeIn, sandboxStyle, ticketStyle, verdictOf } from "./outcome";

const ofSandbox = (status: Sandbox["status"], outcome: Sandbox["outcome"]) => sandboxStyle({ status, outcome });
const ofTicket = (status: Ticket["status"], outcome: Ticket["outcome"]) => ticketStyle({ status, outcome });

it("uses green for verified work only", () => {
  const green = Object.entries(OUTCOME_STYLES).filter(([, { tone }]) => tone === "good");
  expect(green.map(([outcome]) => outcome)).toEqual(["verified"]);
});

it("shows an ended sandbox by its outcome, not by its status", () => {
  expect(ofSandbox("stopped", "failed")).toEqual({ tone: "bad", label: "Failed" });
  expect(ofSandbox("stopped", "verified")).toEqual({ tone: "good", label: "Verified" });
  expect(ofSandbox("stopped", "unchecked")).toEqual({ tone: "neutral", label: "Unchecked" });
  expect(ofSandbox("lost", "no_result")).toEqual({ tone: "warn", label: "Ended without a result" });
  expect(ofSandbox("stopped", "in_progress").label).toBe("Checking result");
  expect(ofSandbox("running", "in_progress").label).toBe("Running");
});

it("shows whether a finished ticket was verified", () => {
  expect(ofTicket("done", "verified")).toEqual({ tone: "good", label: "Done, verified" });
  expect(ofTicket("done", "unchecked")).toEqual({ tone: "neutral", label: "Done, unchecked" });
  expect(ofTicket("failed", "failed")).toEqual({ tone: "bad", label: "Failed" });
  expect(ofTicket("failed", "no_result")).toEqual({ tone: "bad", label: "Failed" });
  expect(ofTicket("blocked", "open").tone).toBe("neutral");
});

it("reads the verdict of events with and without a verdict field", () => {
  expect(verdictOf({ verdict: "unchecked", verified: false, checks: [{}] })).toBe("unchecked");
  expect(verdictOf({ verified: true, checks: [{}] })).toBe("verified");
  expect(verdictOf({ verified: true, checks: [] })).toBe("unchecked");
  expect(verdictOf({ verified: false })).toBe("failed");
  expect([outcomeIn("constructor"), outcomeIn(3), outcomeIn("failed")]).toEqual([null, null, "failed"]);
});
