import { describe, expect, it } from "vitest";
import type { Sandbox } from "@/api/client";
import { choose, countStates, matching, titleOf } from "./row";

const sandbox = (id: string, status: string, task_title?: string) => ({ id, status, task_title }) as unknown as Sandbox;

describe("the list of sandboxes", () => {
  it("counts by status", () => {
    expect(countStates([sandbox("a", "running"), sandbox("b", "running"), sandbox("c", "lost")]).get("running")).toBe(2);
  });

  it("finds by part of the id or title", () => {
    const all = [sandbox("omoios-1", "running", "Fix the Parser"), sandbox("omoios-2", "running")];
    expect(matching(all, "parser").map((each) => each.id)).toEqual(["omoios-1"]);
    expect(matching(all, "OS-2").map((each) => each.id)).toEqual(["omoios-2"]);
  });

  it("shows and finds a sandbox that serves a spec", () => {
    const served = { id: "spec-1", status: "running", task_title: null, task_id: null, spec_id: "2" } as unknown as Sandbox;
    expect(titleOf(served)).toBe("Spec");
    expect(matching([served, sandbox("omoios-1", "running", "Fix it")], "spec").map((each) => each.id)).toEqual(["spec-1"]);
  });

  it("keeps the latest two selected", () => {
    expect(choose(["a", "b"], "c")).toEqual(["b", "c"]);
    expect(choose(["a", "b"], "a")).toEqual(["b"]);
  });
});
