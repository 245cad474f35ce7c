import type { SandboxEvent } from "@/api/client";
import { list, num, str } from "../event-data";

export interface SystemMessage {
  title: string;
  /** The main facts, for one line. */
  summary: string;
  /** All facts by name. */
  facts: readonly (readonly [name: string, value: string])[];
}

/** Summarize an `agent.system_message`: what the agent started with, or what it reported about itself. */
export function summarize(event: SandboxEvent): SystemMessage {
  const subtype = str(event, "subtype") ?? "";
  switch (subtype) {
    case "init":
      return session(event);
    case "more_files_changed": {
      const files = num(event, "files") ?? 0;
      return { title: `${files} more ${files === 1 ? "file" : "files"} changed`, summary: "", facts: [] };
    }
    default:
      return other(event, subtype);
  }
}

function session(event: SandboxEvent): SystemMessage {
  const resumed = str(event, "resumed_session_id");
  const [model, folder, mode] = [str(event, "model"), str(event, "cwd"), str(event, "permissionMode")];
  const [tools, skills, agents] = [names(event, "tools"), names(event, "skills"), names(event, "agents")];
  return {
    title: resumed === null ? "Session started" : "Session resumed",
    summary: [model, counted(tools, "tool"), folder].filter(Boolean).join(" · "),
    facts: present([
      ["Model", model],
      ["Working folder", folder],
      ["Permission mode", mode],
      ["Tools", tools.join(", ")],
      ["Sub-agents", agents.join(", ")],
      ["Skills", skills.join(", ")],
      ["Session", str(event, "session_id")],
      ["Resumed from", resumed],
      ["Agent CLI", str(event, "claude_code_version")],
    ]),
  };
}

function other(event: SandboxEvent, subtype: string): SystemMessage {
  const facts = Object.entries(event.event_data).flatMap(([name, value]) => {
    if (name === "subtype" || name === "turn" || value === null || value === "") return [];
    if (Array.isArray(value)) return [[name, counted(value, "item")] as const];
    return typeof value === "object" ? [] : [[name, String(value)] as const];
  });
  const words = subtype.replace(/[._]/g, " ").trim();
  return {
    title: words === "" ? "System message" : words.charAt(0).toUpperCase() + words.slice(1),
    summary: facts.map(([name, value]) => `${name}: ${value}`).join(" · "),
    facts,
  };
}

function names(event: SandboxEvent, key: string): string[] {
  return list(event, key).filter((each): each is string => typeof each === "string");
}

function counted(items: readonly unknown[], noun: string): string {
  return items.length === 0 ? "" : `${items.length} ${noun}${items.length === 1 ? "" : "s"}`;
}

function present(facts: readonly (readonly [string, string | null])[]): [string, string][] {
  return facts.flatMap(([name, value]) => (value === null || value === "" ? [] : [[name, value]]));
}
