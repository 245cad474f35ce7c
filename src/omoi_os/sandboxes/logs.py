"""A sandbox's events as plain lines of text, for reading and for grep."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from omoi_os.db.base import Sessions
from omoi_os.printable import printable
from omoi_os.protocol.events import EventType
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.models import SandboxEvent

#: Events read at a time: a log of any length needs the memory of one page.
PAGE = 500


async def lines(sessions: Sessions, sandbox_id: str, *, after: int, until: int) -> AsyncIterator[str]:
    """The log of the events with numbers above `after`, up to `until`; no session is open between two pages."""
    while after < until:
        async with sessions() as session:
            rows = await repository.list_events(session, sandbox_id, order="asc", limit=PAGE, cursor_seq=after)
        rows = [row for row in rows if row.seq <= until]
        if not rows:
            return
        after = rows[-1].seq
        yield "".join(render(row) for row in rows)


def render(event: SandboxEvent) -> str:
    """One event: its time, its type and what it says; further lines are set in."""
    say = _SAID.get(event.event_type)
    said = say(event.event_data) if say else _short(event.event_data)
    first, *rest = printable(f"{event.event_type} {said}".rstrip()).split("\n")
    head = f"{event.occurred_at:%Y-%m-%d %H:%M:%S} {first}\n"
    return head + "".join(f"    {line}\n" for line in rest)


def _text(*names: str) -> Callable[[Mapping[str, Any]], str]:
    """Says the first of these fields that has text."""
    return lambda data: next((str(data[name]) for name in names if data.get(name)), "")


def _tool_use(data: Mapping[str, Any]) -> str:
    given = data.get("input")
    command = given.get("command") if isinstance(given, dict) else None
    return f"{data.get('tool')} {command if isinstance(command, str) else _short(given)}"


def _tool_completed(data: Mapping[str, Any]) -> str:
    outcome = "failed" if data.get("is_error") else "ok"
    output = str(data.get("output") or "").rstrip()
    cut = f"\n[cut: {data.get('output_size')} bytes in all]" if data.get("output_truncated") else ""
    return f"{data.get('tool')} {outcome}, {data.get('duration_ms')} ms" + (f"\n{output}{cut}" if output else "")


def _file_edited(data: Mapping[str, Any]) -> str:
    return f"{data.get('change_type')} {data.get('file_path')} +{data.get('lines_added')} -{data.get('lines_removed')}"


def _short(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)[:2000] if value else ""


_SAID: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    EventType.AGENT_MESSAGE: _text("text"),
    EventType.AGENT_THINKING: _text("text"),
    EventType.AGENT_TOOL_USE: _tool_use,
    EventType.AGENT_TOOL_COMPLETED: _tool_completed,
    EventType.AGENT_FILE_EDITED: _file_edited,
    EventType.AGENT_ERROR: _text("error"),
    EventType.AGENT_STREAM_ERROR: _text("error"),
    EventType.AGENT_FAILED: _text("error"),
    EventType.AGENT_COMPLETED: _text("final_output"),
    EventType.SANDBOX_LOST: _text("reason"),
    EventType.SANDBOX_TERMINATED: _text("reason"),
}
