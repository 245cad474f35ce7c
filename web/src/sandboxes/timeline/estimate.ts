import { str } from "../event-data";
import { kindOf } from "./kinds";
import type { Item } from "./items";

/** Estimate the height of an item in pixels; better estimates make scrolling smoother. */
export function estimate(item: Item | undefined): number {
  const row = item?.rows[0];
  if (item === undefined || row === undefined || item.isRun) return 32;
  const event = row.events[0];
  if (row.kind === "heartbeats") return 32;
  if (row.kind === "call") return 32 + Math.min(8, row.events.filter((each) => each.event_type === "agent.file_edited").length) * 28;
  switch (event?.event_type) {
    case "agent.message":
      return 18 + 22 * lines(str(event, "text") ?? "");
    case "agent.message_injected":
      return 40 + 22 * lines(str(event, "content") ?? "");
    case "agent.assistant_message":
      return 26;
    default:
      return event !== undefined && kindOf(event.event_type) === "error" ? 84 : 36;
  }
}

function lines(text: string): number {
  let amount = 0;
  let rest = 40;
  for (let start = 0; start <= text.length && rest > 0; rest -= 1) {
    const end = text.indexOf("\n", start);
    const length = (end === -1 ? text.length : end) - start;
    amount += Math.max(1, Math.ceil(length / 90));
    if (end === -1) break;
    start = end + 1;
  }
  return amount;
}
