"""The report: numbers every event into the spool, and knows what the agent is doing."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from omoi_os.protocol.agent import AgentEvent, BadMessage
from omoi_os.protocol.assignment import DEFAULT_SPOOL_BYTES
from omoi_os.protocol.events import Event, EventSource, EventType
from omoi_os.worker.reporter.blobs import Blobs
from omoi_os.worker.reporter.spool import Spool
from omoi_os.worker.reporter.spool_limit import SpoolLimit
from omoi_os.worker.reporter.truncation import bounded

#: How many invalid messages of one driver are reported.
MAX_BAD_MESSAGES = 20


class Report:
    """Gives every event a time and an id, and appends it to the spool."""

    def __init__(self, spool: Spool, *, blobs: Blobs, max_bytes: int = DEFAULT_SPOOL_BYTES) -> None:
        """`max_bytes` is how much may wait on disk before the agent has to wait."""
        self._spool = spool
        self._blobs = blobs
        self._limit = SpoolLimit(spool, blobs, max_bytes=max_bytes)
        self._bad_messages = 0
        #: Running tools: the name and the start time.
        self._tools: dict[str, tuple[str, str]] = {}
        self.phase = "starting"
        self.turn = 0
        #: How many tools the agent has called.
        self.calls = 0
        self.session_id: str | None = None

    def emit(self, event_type: str, data: dict[str, Any], *, source: str = EventSource.WORKER) -> None:
        """Spool one event. Events of the worker carry the agent's turn, once there is one."""
        if source == EventSource.WORKER and self.turn:
            data = {"turn": self.turn, **data}
        event = Event(
            event_type,
            bounded(data, blobs=self._blobs),
            source=source,
            event_id=str(uuid.uuid4()),
            occurred_at=datetime.now(UTC).isoformat(),
        )
        self._spool.append(event)

    async def wait_for_space(self) -> None:
        """Return when the next event of the agent can be stored; until then the agent has to wait."""
        await self._limit.wait()

    def relay(self, report: AgentEvent | BadMessage) -> None:
        """Spool an event of the agent driver. Nothing a driver sends raises here."""
        if isinstance(report, BadMessage):
            self._report_bad_message(f"The agent driver sent an invalid message: {report}.")
            return
        try:
            self._follow(report.event_type, report.event_data)
            self.emit(report.event_type, report.event_data, source=EventSource.AGENT)
        except (ValueError, TypeError, RecursionError) as error:
            self._report_bad_message(f"The agent driver sent an event that cannot be stored: {error}.")

    def _report_bad_message(self, error: str) -> None:
        self._bad_messages += 1
        if self._bad_messages <= MAX_BAD_MESSAGES:
            hint = "The agent driver is damaged or was tampered with."
            self.emit(EventType.AGENT_ERROR, {"error": error, "error_type": "unknown", "hint": hint})

    def _follow(self, event_type: str, data: dict[str, Any]) -> None:
        turn = data.get("turn")
        if isinstance(turn, int):
            self.turn = turn
        tool_use_id = str(data.get("tool_use_id"))
        if event_type == EventType.AGENT_TOOL_USE:
            self.calls += 1
            if len(self._tools) < 1000:
                self._tools[tool_use_id] = (str(data.get("tool"))[:100], datetime.now(UTC).isoformat())
        elif event_type == EventType.AGENT_TOOL_COMPLETED:
            self._tools.pop(tool_use_id, None)

    def forget_tools(self) -> None:
        """Forget running tools: their turn has ended, whether or not their end was reported."""
        self._tools.clear()

    @property
    def in_tool(self) -> bool:
        """Whether the agent waits for a tool."""
        return bool(self._tools)

    def status(self) -> dict[str, Any]:
        """Return what the agent is doing, for the heartbeat."""
        tool, since = next(reversed(self._tools.values()), (None, None))
        return {
            "status": self.phase,
            "turn": self.turn,
            "current_tool": tool,
            "current_tool_since": since,
            "spooled": self._spool.waiting,
            "spool_full": self._limit.is_full,
        }
