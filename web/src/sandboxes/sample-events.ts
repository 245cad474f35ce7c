import type { SandboxEvent } from "@/api/client";

/** Return an event for tests and benchmarks; each is one second after the previous one. */
export function event(seq: number, type: string, data: Record<string, unknown> = {}, source = "agent"): SandboxEvent {
  const at = new Date(Date.UTC(2026, 0, 1) + seq * 1000).toISOString();
  return { event_id: `e${seq}`, seq, event_type: type, event_data: data, source, occurred_at: at, created_at: at, known: true } as SandboxEvent;
}

/** Return a reproducible random number generator. */
export function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

const TOOLS = ["Bash", "Read", "Grep", "Edit"];

/** Return a random session: calls overlap, some never end, heartbeats come at any time. */
export function randomRun(length: number, seed: number): SandboxEvent[] {
  const roll = dice(seed);
  const open: { id: string; tool: string }[] = [];
  const events: SandboxEvent[] = [];
  let turn = 1;
  const add = (type: string, data: Record<string, unknown> = {}) => events.push(event(events.length + 1, type, { turn, ...data }));
  while (events.length < length) {
    const chance = roll(20);
    if (chance < 6) {
      const call = { id: `t${events.length}`, tool: TOOLS[roll(TOOLS.length)]! };
      open.push(call);
      add("agent.tool_use", { tool: call.tool, tool_use_id: call.id, input: { command: `echo ${events.length}` } });
    } else if (chance < 13 && open.length > 0) {
      const [call] = open.splice(roll(open.length), 1);
      const id = { tool: call!.tool, tool_use_id: call!.id };
      add("agent.tool_completed", { ...id, is_error: roll(8) === 0, output: "ok", duration_ms: roll(900) });
      if (call!.tool === "Edit") add("agent.file_edited", { ...id, file_path: `f${roll(9)}.py`, lines_added: 1 });
    } else if (chance < 16) {
      add("agent.heartbeat", { status: "working" });
    } else if (chance < 18) {
      turn += 1;
      add("agent.assistant_message");
    } else {
      add(chance === 18 ? "agent.message" : "agent.error", { text: "said", error: "no" });
    }
  }
  return events.slice(0, length);
}
