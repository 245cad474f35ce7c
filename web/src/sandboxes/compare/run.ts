import type { SandboxEvent } from "@/api/client";
import { flagOf, inputOf, numberOf, textOf } from "../read";

/** One thing that an agent did. */
export interface Step {
  seq: number;
  /** What was done: a tool, or another kind of event. */
  what: string;
  /** To what: a file, a command, the words. */
  target: string;
  isError: boolean;
}

export interface ChangedLines {
  added: number;
  removed: number;
}

/** What a run did, as far as two runs can be compared. */
export class Run {
  readonly steps: Step[] = [];
  readonly types = new Map<string, number>();
  readonly tools = new Map<string, number>();
  readonly files = new Map<string, ChangedLines>();
  readonly #calls = new Map<string, Step>();

  add(event: SandboxEvent): void {
    raise(this.types, event.event_type);
    switch (event.event_type) {
      case "agent.tool_use":
        return this.#called(event);
      case "agent.tool_completed": {
        const call = this.#calls.get(textOf(event, "tool_use_id") ?? "");
        if (call !== undefined) call.isError = flagOf(event, "is_error");
        return;
      }
      case "agent.file_edited":
        return this.#changed(event);
      case "agent.message":
        return this.#did(event, "Message", textOf(event, "text") ?? "", false);
      case "agent.message_injected":
        return this.#did(event, "Told", textOf(event, "content") ?? "", false);
      case "agent.error":
      case "agent.stream_error":
      case "agent.failed":
        return this.#did(event, "Error", textOf(event, "error") ?? "", true);
      case "agent.completed":
        return this.#did(event, "Completed", textOf(event, "stop_reason") ?? "", false);
    }
  }

  #called(event: SandboxEvent): void {
    const tool = textOf(event, "tool") ?? "tool";
    raise(this.tools, tool);
    const target = ["command", "file_path", "pattern", "description", "skill"].map((field) => inputOf(event, field)).find((value) => value !== null);
    this.#did(event, tool, target ?? "", false);
    const step = this.steps.at(-1);
    if (step !== undefined) this.#calls.set(textOf(event, "tool_use_id") ?? "", step);
  }

  #changed(event: SandboxEvent): void {
    const path = textOf(event, "file_path") ?? "(no path)";
    const before = this.files.get(path) ?? { added: 0, removed: 0 };
    this.files.set(path, {
      added: before.added + (numberOf(event, "lines_added") ?? 0),
      removed: before.removed + (numberOf(event, "lines_removed") ?? 0),
    });
  }

  #did(event: SandboxEvent, what: string, target: string, isError: boolean): void {
    this.steps.push({ seq: event.seq, what, target, isError });
  }
}

function raise(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
