import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Connection } from "./connection";
import type { Item } from "./subscriptions";

interface Line {
  sent: string[];
  onopen?: () => void;
  onclose?: (event: { code: number }) => void;
  onmessage?: (event: { data: string }) => void;
}

const nothing = () => undefined;

/** A fake window and WebSocket; the test triggers frames itself. */
function surroundings() {
  const frames = new Map<number, () => void>();
  let lastFrame = 0;
  const lines: Line[] = [];
  // A function, because it is called with `new`.
  const connect = vi.fn(function connect() {
    const sent: string[] = [];
    const line = { readyState: 1, sent, send: (wish: string) => sent.push(wish), close: nothing };
    lines.push(line as Line);
    return line;
  });
  vi.stubGlobal("WebSocket", Object.assign(connect, { OPEN: 1 }));
  vi.stubGlobal("document", { hidden: false, addEventListener: nothing, removeEventListener: nothing });
  vi.stubGlobal("addEventListener", nothing);
  vi.stubGlobal("removeEventListener", nothing);
  vi.stubGlobal("requestAnimationFrame", (call: () => void) => {
    frames.set(++lastFrame, call);
    return lastFrame;
  });
  vi.stubGlobal("cancelAnimationFrame", (frame: number) => frames.delete(frame));
  const draw = () => {
    const due = [...frames.values()];
    frames.clear();
    for (const call of due) call();
  };
  const tell = (said: object) => lines.at(-1)?.onmessage?.({ data: JSON.stringify(said) });
  return { draw, tell, open: () => lines.at(-1)?.onopen?.(), lose: () => lines.at(-1)?.onclose?.({ code: 1006 }), lines };
}

const change = (id: string): Item => ({ id, type: "task.status", seq: null, timestamp: "", project_id: "p", sandbox_id: null, data: {} });

function listening() {
  const around = surroundings();
  const received: string[] = [];
  const onResync = vi.fn();
  const connection = new Connection("ws://here", "0-0-0", nothing);
  connection.start();
  around.open();
  connection.subscribe({ types: ["task.status"] }, { onItems: (items) => received.push(...items.map(({ id }) => id)), onResync });
  return { ...around, connection, received, onResync };
}

describe("Connection", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it("delivers changes together, once per frame", () => {
    const { tell, draw, received } = listening();
    tell(change("1-1-0"));
    tell(change("1-2-0"));
    expect(received).toEqual([]);
    draw();
    expect(received).toEqual(["1-1-0", "1-2-0"]);
    draw();
    expect(received).toHaveLength(2);
  });

  it("delivers changes before a resync exactly once", () => {
    const { tell, draw, received, onResync } = listening();
    tell(change("1-1-0"));
    tell({ type: "resync", id: "2-0-0" });
    expect(received).toEqual(["1-1-0"]);
    expect(onResync).toHaveBeenCalledOnce();
    draw();
    expect(received).toHaveLength(1);
  });

  it("gives a late subscription its own start position", () => {
    const { connection, tell, draw } = listening();
    const onItems = vi.fn();
    const onBegin = vi.fn();
    connection.subscribe({}, { onItems, onBegin });
    tell(change("7-1-0"));
    draw();
    expect(onItems).toHaveBeenCalledOnce();
    expect(onBegin).not.toHaveBeenCalled();
    tell({ type: "subscribed", subscription: "s2", id: "8-0-0" });
    tell({ type: "live", subscription: "s2", id: "8-0-0" });
    expect(onBegin).toHaveBeenCalledOnce();
  });

  it("resumes each subscription after its own last change", () => {
    const { connection, tell, draw, open, lose, lines } = listening();
    tell({ type: "live", subscription: "s1", id: "5-0-0" });
    connection.subscribe({}, { onItems: nothing });
    tell({ type: "subscribed", subscription: "s2", id: "6-0-0" });
    tell(change("9-1-0"));
    draw();
    lose();
    vi.advanceTimersByTime(10_000);
    open();
    const wishes = lines.at(-1)?.sent.map((wish) => JSON.parse(wish)) ?? [];
    expect(wishes.map(({ id, since }) => [id, since])).toEqual([
      ["s1", "9-1-0"],
      ["s2", "6-0-0"],
    ]);
  });

  it("does not confuse frame ids with timer ids", () => {
    const { tell, draw } = listening();
    const cleared = vi.spyOn(globalThis, "clearTimeout");
    tell(change("1-1-0"));
    cleared.mockClear();
    draw();
    expect(cleared).not.toHaveBeenCalled();
  });
});
