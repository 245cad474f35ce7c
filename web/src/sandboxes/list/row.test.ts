import { describe, expect, it } from "vitest";
import type { Sandbox } from "@/api/client";
import { choose, countStates, matching } from "./row";

const sandbox = (id: string, status: string, task_title?: string) => ({ id, status, task_title }) as unknown as Sandbox;

describe("the list of sandboxes", () => {
  it("counts by state", () => {
    expect(countStates([sandbox("a", "running"), sandbox("b", "running"), sandbox("c", "lost")]).get("running")).toBe(2);
  });

  it("finds by a part of the id or of the title", () => {
    const all = [sandbox("omoios-1", "running", "Fix the Parser"), sandbox("omoios-2", "running")];
    expect(matching(all, "parser").map((each) => each.id)).toEqual(["omoios-1"]);
    expect(matching(all, "OS-2").map((each) => each.id)).toEqual(["omoios-2"]);
  });

  it("lets two be chosen, the newest two", () => {
    expect(choose(["a", "b"], "c")).toEqual(["b", "c"]);
    expect(choose(["a", "b"], "a")).toEqual(["b"]);
  });
});
