"""Events that a worker reports, and those that the platform adds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class EventType(StrEnum):
    """Every known type of event; `protocol/payloads.py` has the data of each."""

    AGENT_STARTED = "agent.started"
    AGENT_SYSTEM_MESSAGE = "agent.system_message"
    AGENT_ASSISTANT_MESSAGE = "agent.assistant_message"
    AGENT_THINKING = "agent.thinking"
    AGENT_MESSAGE = "agent.message"
    AGENT_TOOL_USE = "agent.tool_use"
    AGENT_TOOL_COMPLETED = "agent.tool_completed"
    AGENT_USER_TOOL_RESULT = "agent.user_tool_result"
    AGENT_FILE_EDITED = "agent.file_edited"
    AGENT_SUBAGENT_INVOKED = "agent.subagent_invoked"
    AGENT_SUBAGENT_COMPLETED = "agent.subagent_completed"
    AGENT_SKILL_INVOKED = "agent.skill_invoked"
    AGENT_MESSAGE_INJECTED = "agent.message_injected"
    AGENT_WAITING = "agent.waiting"
    AGENT_INTERRUPTED = "agent.interrupted"
    AGENT_HEARTBEAT = "agent.heartbeat"
    AGENT_RATE_LIMITED = "agent.rate_limited"
    AGENT_STREAM_ERROR = "agent.stream_error"
    AGENT_ERROR = "agent.error"
    AGENT_COMPLETED = "agent.completed"
    AGENT_FAILED = "agent.failed"
    AGENT_SHUTDOWN = "agent.shutdown"
    ITERATION_STARTED = "iteration.started"
    ITERATION_COMPLETED = "iteration.completed"
    ITERATION_FAILED = "iteration.failed"
    ITERATION_VALIDATION = "iteration.validation"
    SPEC_PHASE_STARTED = "spec.phase_started"
    SPEC_PHASE_COMPLETED = "spec.phase_completed"
    SPEC_PHASE_RETRY = "spec.phase_retry"
    SPEC_PHASE_FAILED = "spec.phase_failed"
    SPEC_EXECUTION_COMPLETED = "spec.execution_completed"
    SPEC_EXECUTION_FAILED = "spec.execution_failed"
    SANDBOX_CREATED = "sandbox.created"
    SANDBOX_STARTED = "sandbox.started"
    SANDBOX_TERMINATED = "sandbox.terminated"
    SANDBOX_LOST = "sandbox.lost"
    TASK_VERIFIED = "task.verified"


#: The names of all types, for fast lookups.
KNOWN_TYPES: frozenset[str] = frozenset(EventType)


class EventSource(StrEnum):
    """Who reports an event. A sandbox may use `agent` and `worker` only."""

    AGENT = "agent"
    WORKER = "worker"
    SYSTEM = "system"


#: Event types that only the platform may add.
PLATFORM_PREFIXES = ("system", "sandbox.", "task.")


@dataclass(frozen=True, slots=True)
class Event:
    """One event, as a worker posts it.

    `seq` is the worker's own counter, dense from 1. A heartbeat has none and is sent only once.
    """

    event_type: str
    event_data: dict[str, Any]
    source: str = EventSource.AGENT
    event_id: str | None = None
    seq: int | None = None
    occurred_at: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the body of `POST …/events`, without absent fields."""
        body = {
            "event_type": self.event_type,
            "event_data": self.event_data,
            "source": self.source,
            "event_id": self.event_id,
            "seq": self.seq,
            "occurred_at": self.occurred_at,
        }
        return {key: value for key, value in body.items() if value is not None}


_DIGEST = re.compile(r"[0-9a-f]{64}")


def blob_digests(event_data: dict[str, Any]) -> list[str]:
    """Return the hashes of an event's blobs: the values of its fields that end in `_blob`."""
    return [
        value
        for key, value in event_data.items()
        if key.endswith("_blob") and isinstance(value, str) and _DIGEST.fullmatch(value)
    ]
