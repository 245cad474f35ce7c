import { expect, test } from "vitest";
import { keyStatus } from "./key-status";

const NOON = Date.parse("2026-11-15T12:00:00Z");

test("a key is valid until it expires or is revoked", () => {
  const later = "2026-11-15T12:00:01Z";
  expect(keyStatus({ revoked_at: null, expires_at: null }, NOON)[0]).toBe("valid");
  expect(keyStatus({ revoked_at: null, expires_at: later }, NOON)[0]).toBe("valid");
  expect(keyStatus({ revoked_at: null, expires_at: "2026-11-15T12:00:00Z" }, NOON)[0]).toBe("expired");
  expect(keyStatus({ revoked_at: "2026-11-14T12:00:00Z", expires_at: later }, NOON)[0]).toBe("revoked");
});
