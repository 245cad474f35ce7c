import type { SandboxEvent } from "@/api/client";
import { flagOf, inputOf, numberOf, textOf } from "../read";

/** What came of a command. */
export interface Outcome {
  seq: number;
  at: string;
  output: string;
  isError: boolean;
  exitCode: number | null;
  durationMs: number | null;
  /** How long the output is in all, if it was cut, and where it is kept whole. */
  cut: { size: number | null; blob: string | null } | null;
}

/** One command of the agent's shell. */
export interface Command {
  seq: number;
  at: string;
  command: string;
  description: string | null;
  turn: number | null;
  isSubagent: boolean;
  outcome: Outcome | null;
}

const EXIT = /^Exit code (\d{1,3})(?:\n|$)/;
const NOTHING = "(Bash completed with no output)";

/** Every command of a run, in order, with its outcome. */
export class Commands {
  readonly all: Command[] = [];
  /** Grows with every change. */
  revision = 0;
  readonly #open = new Map<string, Command>();

  add(event: SandboxEvent): void {
    if (event.event_data.tool !== "Bash") return;
    const id = textOf(event, "tool_use_id") ?? "";
    if (event.event_type === "agent.tool_use") {
      const command: Command = {
        seq: event.seq,
        at: event.occurred_at,
        command: inputOf(event, "command") ?? "",
        description: inputOf(event, "description"),
        turn: numberOf(event, "turn"),
        isSubagent: textOf(event, "parent_tool_use_id") !== null,
        outcome: null,
      };
      this.all.push(command);
      this.#open.set(id, command);
      this.revision += 1;
    } else if (event.event_type === "agent.tool_completed") {
      const command = this.#open.get(id);
      if (command === undefined) return;
      this.#open.delete(id);
      command.outcome = outcomeOf(event);
      this.revision += 1;
    }
  }
}

function outcomeOf(event: SandboxEvent): Outcome {
  const said = textOf(event, "output") ?? "";
  const isError = flagOf(event, "is_error");
  const exit = isError ? EXIT.exec(said) : null;
  const output = exit === null ? said : said.slice(exit[0].length);
  return {
    seq: event.seq,
    at: event.occurred_at,
    output: output === NOTHING ? "" : output,
    isError,
    exitCode: exit === null ? (isError ? null : 0) : Number(exit[1]),
    durationMs: numberOf(event, "duration_ms"),
    cut: flagOf(event, "output_truncated") ? { size: numberOf(event, "output_size"), blob: textOf(event, "output_blob") } : null,
  };
}

/** What was known of a command when a replay stands at an event. */
export function outcomeAt(command: Command, upTo: number | null): Outcome | null {
  const { outcome } = command;
  return outcome === null || (upTo !== null && outcome.seq > upTo) ? null : outcome;
}

/** The commands that had begun by then and hold what is looked for, in themselves or in what they said. */
export function found(all: readonly Command[], upTo: number | null, query: string): Command[] {
  const wanted = query.trim().toLowerCase();
  return all.filter(
    (command) =>
      (upTo === null || command.seq <= upTo) &&
      (wanted === "" ||
        command.command.toLowerCase().includes(wanted) ||
        (outcomeAt(command, upTo)?.output.toLowerCase().includes(wanted) ?? false)),
  );
}
