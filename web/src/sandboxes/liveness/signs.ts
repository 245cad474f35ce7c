import type { SandboxEvent } from "@/api/client";
import { flag, num, str } from "../event-data";

/** Facts about a sandbox's liveness that its events report; times are in milliseconds. */
export interface Signs {
  /** The last event that was not a heartbeat. */
  lastEventAt: number | null;
  beatAt: number | null;
  lastWorkAt: number | null;
  /** The running tool. */
  tool: { name: string; since: number } | null;
  waitingSince: number | null;
  lingerMs: number | null;
  limitedAt: number | null;
  model: string | null;
  /** The number of model requests. */
  turn: number;
}

/** Reads each event once, as it arrives. */
export class SignReader {
  readonly signs: Signs = {
    lastEventAt: null,
    beatAt: null,
    lastWorkAt: null,
    tool: null,
    waitingSince: null,
    lingerMs: null,
    limitedAt: null,
    model: null,
    turn: 0,
  };
  #running = new Map<string, { name: string; since: number }>();
  #last = 0;

  sync(feed: { events: readonly SandboxEvent[]; first: number; last: number }): Signs {
    const from = Math.max(0, this.#last + 1 - feed.first);
    for (let place = from; place < feed.events.length; place += 1) this.read(feed.events[place]!);
    return this.signs;
  }

  read(event: SandboxEvent): void {
    if (event.seq <= this.#last) return;
    this.#last = event.seq;
    const at = Date.parse(event.created_at);
    if (event.event_type === "agent.heartbeat") {
      this.#beat(event, at);
      return;
    }
    this.signs.lastEventAt = at;
    if (event.source !== "system") this.signs.lastWorkAt = at;
    this.#follow(event, at);
  }

  #beat(event: SandboxEvent, at: number): void {
    this.signs.beatAt = at;
    if (flag(event, "busy")) this.signs.lastWorkAt = at;
    const name = str(event, "current_tool");
    if (name === null) {
      this.#running.clear();
      this.signs.tool = null;
    } else if (this.signs.tool === null) {
      const since = Date.parse(str(event, "current_tool_since") ?? "");
      this.signs.tool = { name, since: Number.isNaN(since) ? at : since };
    }
  }

  #follow(event: SandboxEvent, at: number): void {
    const { signs } = this;
    const callId = str(event, "tool_use_id") ?? "";
    signs.model = str(event, "model") ?? signs.model;
    signs.turn = num(event, "turn") ?? signs.turn;
    signs.limitedAt = event.event_type === "agent.rate_limited" ? at : null;
    if (event.event_type !== "agent.waiting" && event.source !== "system") signs.waitingSince = null;
    switch (event.event_type) {
      case "agent.tool_use":
        this.#running.set(callId, { name: str(event, "tool") ?? "a tool", since: at });
        break;
      case "agent.tool_completed":
        this.#running.delete(callId);
        break;
      case "agent.waiting":
        signs.waitingSince = at;
        signs.lingerMs = (num(event, "linger_seconds") ?? 0) * 1000 || null;
        break;
      default:
        break;
    }
    if (ENDS_TOOLS.has(event.event_type)) this.#running.clear();
    signs.tool = Array.from(this.#running.values()).at(-1) ?? null;
  }
}

const ENDS_TOOLS = new Set(["agent.interrupted", "agent.completed", "agent.failed", "agent.waiting", "agent.shutdown"]);
