import { createElement, memo, type ComponentType } from "react";
import type { Row } from "../grouping";
import { kindOf } from "../kinds";
import { CallCard } from "./call-card";
import { ErrorCard, RateLimitCard } from "./error-card";
import { HeartbeatsCard } from "./heartbeats-card";
import { MilestoneCard } from "./milestone-card";
import { EditCard, PlainCard, SystemMessageCard, TurnLine } from "./small-cards";
import { InjectedCard, InterruptedCard } from "./message-card";
import { TextCard, ThinkingCard } from "./text-card";

// A map: an agent may choose an event name that every object has, such as `constructor`.
const BY_TYPE = new Map<string, ComponentType<{ row: Row }>>(
  Object.entries({
    "agent.message": TextCard,
    "agent.thinking": ThinkingCard,
    "agent.assistant_message": TurnLine,
    "agent.error": ErrorCard,
    "agent.stream_error": ErrorCard,
    "agent.failed": ErrorCard,
    "agent.rate_limited": RateLimitCard,
    "agent.message_injected": InjectedCard,
    "agent.interrupted": InterruptedCard,
    "agent.file_edited": EditCard,
    "agent.system_message": SystemMessageCard,
  }),
);

function cardOf(row: Row): ComponentType<{ row: Row }> {
  if (row.kind === "call") return CallCard;
  if (row.kind === "heartbeats") return HeartbeatsCard;
  const type = row.events[0]?.event_type ?? "";
  return BY_TYPE.get(type) ?? (kindOf(type) === "milestone" ? MilestoneCard : PlainCard);
}

/** Rows change in place; their revision shows when to render them again. */
export const RowCard = memo(function RowCard({ row }: { row: Row; revision: number }) {
  return createElement(cardOf(row), { row });
});
