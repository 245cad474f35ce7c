"""The report: every event goes through here into the spool; it also knows where the agent is."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from omoi_os.protocol.assignment import DEFAULT_SPOOL_BYTES
from omoi_os.protocol.events import Event, EventSource, EventType
from omoi_os.worker.reporter.blobs import Blobs
from omoi_os.worker.reporter.driver_process import NotJson
from omoi_os.worker.reporter.spool import Spool
from omoi_os.worker.reporter.spool_limit import Room
from omoi_os.worker.reporter.truncation import bounded

#: What the agent child may report; beginnings and endings are the worker's own to tell.
RELAYED = frozenset(
    {
        EventType.AGENT_SYSTEM_MESSAGE,
        EventType.AGENT_ASSISTANT_MESSAGE,
        EventType.AGENT_THINKING,
        EventType.AGENT_MESSAGE,
        EventType.AGENT_TOOL_USE,
        EventType.AGENT_TOOL_COMPLETED,
        EventType.AGENT_USER_TOOL_RESULT,
        EventType.AGENT_FILE_EDITED,
        EventType.AGENT_SUBAGENT_INVOKED,
        EventType.AGENT_SUBAGENT_COMPLETED,
        EventType.AGENT_SKILL_INVOKED,
        EventType.AGENT_RATE_LIMITED,
        EventType.AGENT_STREAM_ERROR,
        EventType.AGENT_ERROR,
    }
)

#: A child that sends more nonsense than this is not told on any further.
MAX_UNREADABLE = 20


class Report:
    """Gives every event its time, its id and its place in the spool."""

    def __init__(self, spool: Spool, *, blobs: Blobs, max_bytes: int = DEFAULT_SPOOL_BYTES) -> None:
        """`max_bytes` is how much may wait on disk before the agent has to."""
        self._spool = spool
        self._blobs = blobs
        self._room = Room(spool, blobs, max_bytes=max_bytes)
        self._unreadable = 0
        #: Tools that run now: the name and since when.
        self._tools: dict[str, tuple[str, str]] = {}
        self.phase = "starting"
        self.turn = 0
        #: How many tools the agent has called.
        self.calls = 0
        self.session_id: str | None = None

    def emit(self, event_type: str, data: dict[str, Any], *, source: str = EventSource.WORKER) -> None:
        """Spool one event; what the worker tells by itself carries the agent's turn, once there is one."""
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

    async def wait_for_room(self) -> None:
        """Return when what the agent says next can be written down; until then it has to wait."""
        await self._room.wait()

    def relay(self, message: dict[str, Any] | NotJson) -> None:
        """Spool what the agent child says, whatever it is; nothing in it may stop the worker."""
        if isinstance(message, NotJson):
            self._complain(str(message))
            return
        event_type, data = message.get("event_type"), message.get("event_data")
        if not isinstance(event_type, str) or event_type not in RELAYED or not isinstance(data, dict):
            self._complain(f"The agent sent an event that it may not send: {str(event_type)[:100]}.")
            return
        try:
            self._follow(event_type, data)
            self.emit(event_type, data, source=EventSource.AGENT)
        except (ValueError, TypeError, RecursionError) as error:
            self._complain(f"The agent sent an event that cannot be stored: {error}")

    def _complain(self, error: str) -> None:
        self._unreadable += 1
        if self._unreadable <= MAX_UNREADABLE:
            hint = "The agent's process is damaged or was tampered with."
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
        elif event_type == EventType.AGENT_SYSTEM_MESSAGE and isinstance(data.get("session_id"), str):
            self.session_id = data["session_id"]

    def forget_tools(self) -> None:
        """A turn is over: whatever ran in it does not run any more, told or not."""
        self._tools.clear()

    @property
    def in_tool(self) -> bool:
        """Whether the agent waits for a tool."""
        return bool(self._tools)

    def status(self) -> dict[str, Any]:
        """Where the agent is, for the heartbeat."""
        tool, since = next(reversed(self._tools.values()), (None, None))
        return {
            "status": self.phase,
            "turn": self.turn,
            "current_tool": tool,
            "current_tool_since": since,
            "spooled": self._spool.waiting,
            "spool_full": self._room.is_full,
        }
