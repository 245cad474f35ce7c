import { describe, expect, it } from "vitest";
import type { Sandbox } from "@/api/client";
import { choose, countStates, matching } from "./row";

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

  it("keeps the latest two selected", () => {
    expect(choose(["a", "b"], "c")).toEqual(["b", "c"]);
    expect(choose(["a", "b"], "a")).toEqual(["b"]);
  });
});
