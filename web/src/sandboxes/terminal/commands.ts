import type { SandboxEvent } from "@/api/client";
import { cut, exitOf, flag, num, record, textOf, str } from "../event-data";

/** The result of a command. */
export interface Outcome {
  seq: number;
  at: string;
  output: string;
  isError: boolean;
  exitCode: number | null;
  durationMs: number | null;
  /** The full size of a truncated output, and the hash of the full output. */
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

const NOTHING = "(Bash completed with no output)";

/** Every command of a session, in order, with its result. */
export class Commands {
  readonly all: Command[] = [];
  /** Incremented on every change. */
  revision = 0;
  readonly #open = new Map<string, Command>();

  add(event: SandboxEvent): void {
    if (!event.known || event.event_data.tool !== "Bash") return;
    if (event.event_type === "agent.tool_use") {
      const command = commandOf(event);
      this.all.push(command);
      this.#open.set(event.event_data.tool_use_id ?? "", command);
      this.revision += 1;
    } else if (event.event_type === "agent.tool_completed") {
      const id = event.event_data.tool_use_id ?? "";
      const command = this.#open.get(id);
      if (command === undefined) return;
      this.#open.delete(id);
      command.outcome = outcomeOf(event);
      this.revision += 1;
    }
  }
}

function commandOf(event: SandboxEvent): Command {
  const input = record(event.event_data.input);
  return {
    seq: event.seq,
    at: event.occurred_at,
    command: textOf(input.command),
    description: typeof input.description === "string" ? input.description : null,
    turn: num(event, "turn"),
    isSubagent: str(event, "parent_tool_use_id") !== null,
    outcome: null,
  };
}

function outcomeOf(event: SandboxEvent): Outcome {
  const { text, size, blob, isCut } = cut(event, "output");
  const isError = flag(event, "is_error");
  const exit = exitOf(text, isError);
  return {
    seq: event.seq,
    at: event.occurred_at,
    output: exit.rest === NOTHING ? "" : exit.rest,
    isError,
    exitCode: exit.code,
    durationMs: num(event, "duration_ms"),
    cut: isCut ? { size, blob } : null,
  };
}

/** Return the result of a command as known at a replay position. */
export function outcomeAt(command: Command, upTo: number | null): Outcome | null {
  const { outcome } = command;
  return outcome === null || (upTo !== null && outcome.seq > upTo) ? null : outcome;
}

/** Return the commands that had started by then and contain the query, in the command or in its output. */
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
