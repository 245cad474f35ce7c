import { expect, it } from "vitest";
import { event } from "@/sandboxes/sample-events";
import { headline } from "./headlines";

it("names the attempt and the provider of a requested sandbox", () => {
  expect(headline(event(1, "sandbox.created", { attempt: 2, provider: "local" }))).toBe("Sandbox requested for attempt 2 from provider local");
  expect(headline(event(1, "sandbox.created"))).toBe("Sandbox requested for attempt 1");
});
