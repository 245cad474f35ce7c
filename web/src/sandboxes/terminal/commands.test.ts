import { describe, expect, it } from "vitest";
import type { SandboxEvent } from "@/api/client";
import { event as sample } from "../sample-events";
import { Commands, found, outcomeAt } from "./commands";
import { FIRST_LINES, rowsOf } from "./rows";

function event(seq: number, type: "tool_use" | "tool_completed", data: Record<string, unknown>): SandboxEvent {
  return sample(seq, `agent.${type}`, { tool: "Bash", tool_use_id: "t", ...data });
}

function collect(...events: SandboxEvent[]) {
  const commands = new Commands();
  for (const each of events) commands.add(each);
  return commands.all;
}

const run = (output: string, data: Record<string, unknown> = {}) =>
  collect(event(1, "tool_use", { input: { command: "make" } }), event(4, "tool_completed", { output, ...data }));

describe("commands", () => {
  it("are paired with their results, even out of order", () => {
    const all = collect(
      event(1, "tool_use", { tool_use_id: "a", input: { command: "one" } }),
      event(2, "tool_use", { tool_use_id: "b", input: { command: "two" } }),
      event(3, "tool_completed", { tool_use_id: "a", output: "1" }),
      event(4, "tool_completed", { tool_use_id: "b", output: "2" }),
    );
    expect(all.map((command) => [command.command, command.outcome?.output])).toEqual([
      ["one", "1"],
      ["two", "2"],
    ]);
  });

  it("report their exit code", () => {
    expect(run("Exit code 2\nls: no such file", { is_error: true })[0]?.outcome).toMatchObject({
      exitCode: 2,
      output: "ls: no such file",
    });
    expect(run("fine")[0]?.outcome?.exitCode).toBe(0);
    expect(run("was stopped", { is_error: true })[0]?.outcome?.exitCode).toBeNull();
  });

  it("do not parse an exit code from ordinary output", () => {
    expect(run("Exit code 2\nnot really")[0]?.outcome).toMatchObject({ exitCode: 0, output: "Exit code 2\nnot really" });
  });

  it("have no result at an earlier replay position", () => {
    const [command] = run("late");
    expect(command && outcomeAt(command, 3)).toBeNull();
    expect(found(run("late"), 3, "late")).toHaveLength(0);
    expect(found(run("late"), null, "LATE")).toHaveLength(1);
  });

  it("show the start of a long output and a button for the rest", () => {
    const all = run(Array.from({ length: 500 }, (_, line) => `line ${line}`).join("\n"));
    const rows = rowsOf(all, null, new Map());
    expect(rows.flatMap((row) => (row.kind === "output" ? row.lines : []))).toHaveLength(FIRST_LINES);
    expect(rows.at(-1)).toMatchObject({ kind: "more", lines: 500 });
    expect(rowsOf(all, null, new Map([[1, null]])).flatMap((row) => (row.kind === "output" ? row.lines : []))).toHaveLength(500);
  });
});
