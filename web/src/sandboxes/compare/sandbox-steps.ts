import type { SandboxEvent } from "@/api/client";
import { targetOf } from "../event-data";
import { stopReason } from "../stop-reason";

/** One action of an agent. */
export interface Step {
  seq: number;
  /** The tool, or another kind of event. */
  what: string;
  /** The file, command or text. */
  target: string;
  isError: boolean;
}

export interface ChangedLines {
  added: number;
  removed: number;
}

/** Collects the steps, tools and files of a sandbox for a comparison. */
export class Run {
  readonly steps: Step[] = [];
  readonly types = new Map<string, number>();
  readonly tools = new Map<string, number>();
  readonly files = new Map<string, ChangedLines>();
  readonly #calls = new Map<string, Step>();

  add(event: SandboxEvent): void {
    raise(this.types, event.event_type);
    if (!event.known) return;
    const { event_data: data } = event;
    switch (event.event_type) {
      case "agent.tool_use": {
        const { tool = "tool", tool_use_id = "", input } = event.event_data;
        raise(this.tools, tool);
        this.#calls.set(tool_use_id, this.#did(event, tool, targetOf(input)));
        return;
      }
      case "agent.tool_completed": {
        const call = this.#calls.get(event.event_data.tool_use_id ?? "");
        if (call !== undefined) call.isError = data.is_error === true;
        return;
      }
      case "agent.file_edited": {
        const { file_path = "(no path)", lines_added = 0, lines_removed = 0 } = event.event_data;
        const before = this.files.get(file_path) ?? { added: 0, removed: 0 };
        this.files.set(file_path, { added: before.added + lines_added, removed: before.removed + lines_removed });
        return;
      }
      case "agent.message":
        return void this.#did(event, "Reply", event.event_data.text);
      case "agent.message_injected":
        return void this.#did(event, "Message", event.event_data.content);
      case "agent.error":
      case "agent.stream_error":
      case "agent.failed":
        return void this.#did(event, "Error", event.event_data.error, true);
      case "agent.completed":
        return void this.#did(event, "Completed", stopReason(event.event_data.stop_reason ?? ""));
    }
  }

  #did(event: SandboxEvent, what: string, target: string | null | undefined, isError = false): Step {
    const step = { seq: event.seq, what, target: target ?? "", isError };
    this.steps.push(step);
    return step;
  }
}

function raise(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
