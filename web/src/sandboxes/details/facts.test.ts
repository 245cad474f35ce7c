import { describe, expect, it } from "vitest";
import { event as sample } from "../sample-events";
import { FactReader, ranked } from "./facts";

const event = (type: string, data: Record<string, unknown>) => sample(1, type, data);

describe("the settings of a sandbox", () => {
  it("are read from the worker's and agent's reports; later values win", () => {
    const finder = new FactReader();
    finder.add(event("sandbox.created", { branch_name: "feature/a" }));
    finder.add(event("agent.started", { model: "scripted", mode: "implementation", branch_name: "feature/b" }));
    finder.add(event("agent.system_message", { tools: ["Bash", 7, "Read"], session_id: "s" }));
    expect(finder.facts).toMatchObject({ branch: "feature/b", model: "scripted", mode: "implementation", tools: ["Bash", "Read"], sessionId: "s" });
  });

  it("include only the environment that the platform reported", () => {
    const finder = new FactReader();
    finder.add(event("sandbox.started", { environment: { HOME: "/home/agent", MAX_TURNS: 5 } }));
    finder.add(event("agent.started", { environment: { HOME: "/evil" } }));
    expect(finder.facts.environment).toEqual([["HOME", "/home/agent"]]);
  });

  it("ignore other events", () => {
    const finder = new FactReader();
    finder.add(event("agent.message", { branch_name: "evil" }));
    expect(finder.facts.branch).toBeNull();
  });

  it("rank counts by number, then by name", () => {
    expect(ranked({ b: 1, a: 1, c: 5 }).map(([type]) => type)).toEqual(["c", "a", "b"]);
  });
});
