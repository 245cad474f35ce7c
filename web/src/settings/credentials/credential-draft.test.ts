import { expect, test } from "vitest";
import { credentialBody, EMPTY_DRAFT, isComplete } from "./credential-draft";

const ANTHROPIC = { ...EMPTY_DRAFT, name: " Work ", secret: " sk-ant-x " };

test("a draft becomes a request with the fields of its provider only", () => {
  const draft = { ...ANTHROPIC, baseUrl: "https://x.example.org", username: "ada", knownHosts: "x", isShared: true };
  expect(credentialBody(draft)).toEqual({
    provider: "anthropic",
    name: "Work",
    secret: "sk-ant-x",
    base_url: null,
    model: null,
    username: null,
    known_hosts: null,
    shared: true,
  });
  expect(credentialBody({ ...draft, provider: "github" })).toMatchObject({ base_url: null, shared: false });
});

test("each provider has its own required fields", () => {
  expect(isComplete(ANTHROPIC)).toBe(true);
  expect(isComplete({ ...ANTHROPIC, secret: " " })).toBe(false);
  const other = { ...ANTHROPIC, provider: "anthropic_compatible" as const };
  expect(isComplete(other)).toBe(false);
  expect(isComplete({ ...other, baseUrl: "https://api.z.ai" })).toBe(true);
});

test("a git host needs a user over HTTPS and known hosts over SSH", () => {
  const https = { ...ANTHROPIC, provider: "git" as const, baseUrl: "https://git.example.org" };
  const ssh = { ...https, baseUrl: "ssh://git.example.org" };
  expect([isComplete(https), isComplete({ ...https, username: "ada" })]).toEqual([false, true]);
  expect([isComplete(ssh), isComplete({ ...ssh, knownHosts: "x" })]).toEqual([false, true]);
  expect(credentialBody({ ...ssh, username: "ada", knownHosts: "x" })).toMatchObject({ username: null, known_hosts: "x" });
});
