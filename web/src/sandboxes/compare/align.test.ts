import { describe, expect, it } from "vitest";
import { event } from "../sample-events";
import { align } from "./align";
import { Run, type Step } from "./sandbox-steps";

const steps = (letters: string): Step[] => [...letters].map((what, seq) => ({ seq, what, target: "", isError: false }));

function drawn(a: string, b: string): string {
  return align(steps(a), steps(b))
    .map((pair) => `${pair.a?.what ?? "-"}${pair.isSame ? "=" : "|"}${pair.b?.what ?? "-"}`)
    .join(" ");
}

describe("two sandboxes side by side", () => {
  it("are aligned on equal steps", () => {
    expect(drawn("RWB", "RWB")).toBe("R=R W=W B=B");
  });

  it("leave a gap where only one has a step", () => {
    expect(drawn("RWB", "RB")).toBe("R=R W|- B=B");
    expect(drawn("RB", "RXYB")).toBe("R=R -|X -|Y B=B");
  });

  it("pair different steps between equal ones", () => {
    expect(drawn("RWB", "RXB")).toBe("R=R W|X B=B");
  });

  it("can be empty", () => {
    expect(drawn("", "")).toBe("");
    expect(drawn("", "A")).toBe("-|A");
  });

  it("are paired by position if they are very long", () => {
    const pairs = align(steps("R".repeat(2_000)), steps("R".repeat(1_999)));
    expect(pairs).toHaveLength(2_000);
    expect(pairs.at(-1)?.isSame).toBe(false);
  });
});

describe("the steps of a sandbox", () => {
  it("are counted by type, tool and file, with failed calls marked", () => {
    const run = new Run();
    const add = (event_type: string, event_data: Record<string, unknown>) =>
      run.add(event(1, event_type, event_data));
    add("agent.tool_use", { tool: "Bash", tool_use_id: "t", input: { command: "make" } });
    add("agent.tool_completed", { tool: "Bash", tool_use_id: "t", is_error: true });
    add("agent.file_edited", { file_path: "a", lines_added: 2, lines_removed: 1 });
    add("agent.file_edited", { file_path: "a", lines_added: 3 });
    expect(run.steps).toEqual([{ seq: 1, what: "Bash", target: "make", isError: true }]);
    expect([run.tools.get("Bash"), run.types.get("agent.file_edited"), run.files.get("a")]).toEqual([1, 2, { added: 5, removed: 1 }]);
  });
});
