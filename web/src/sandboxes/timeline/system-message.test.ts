import { expect, it } from "vitest";
import { event } from "../sample-events";
import { summarize } from "./system-message";

const init = { subtype: "init", model: "scripted", cwd: "/workspace", tools: ["Bash", "Edit"], skills: ["verify"], session_id: "s1" };

it("summarizes a new session by its model, tools and working folder", () => {
  const { title, summary, facts } = summarize(event(1, "agent.system_message", init));
  expect([title, summary]).toEqual(["Session started", "scripted · 2 tools · /workspace"]);
  expect(facts).toContainEqual(["Tools", "Bash, Edit"]);
  expect(facts.map(([name]) => name)).not.toContain("Resumed from");
});

it("says when a session continues an earlier one", () => {
  const { title, facts } = summarize(event(1, "agent.system_message", { ...init, resumed_session_id: "s0" }));
  expect(title).toBe("Session resumed");
  expect(facts).toContainEqual(["Resumed from", "s0"]);
});

it("names other messages in words and never as JSON", () => {
  expect(summarize(event(1, "agent.system_message", { subtype: "more_files_changed", files: 3 })).title).toBe("3 more files changed");
  const other = summarize(event(1, "agent.system_message", { subtype: "compact_boundary", trigger: "auto", hooks: [1, 2], metadata: { a: 1 } }));
  expect([other.title, other.summary]).toEqual(["Compact boundary", "trigger: auto · hooks: 2 items"]);
});
