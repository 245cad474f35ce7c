"""Render events as text: the lines of a log. Shared by the API and the commands."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from omoi_os.printable import printable
from omoi_os.protocol.events import EventType


def render(event_type: str, data: Mapping[str, Any], *, at: datetime) -> str:
    """Return one event as text: time, type and summary, further lines indented. Safe for a terminal.

    Returns "" for the agent's copy of a tool result: `agent.tool_completed` carries the same output.
    """
    if event_type == EventType.AGENT_USER_TOOL_RESULT:
        return ""
    first, *rest = printable(f"{event_type} {telling_part(event_type, data)}".rstrip()).split("\n")
    head = f"{at:%Y-%m-%d %H:%M:%S} {first}\n"
    return head + "".join(f"    {line}\n" for line in rest)


def telling_part(event_type: str, data: Mapping[str, Any]) -> str:
    """Return the most important part of an event's data, as the agent wrote it: not safe for a terminal."""
    summarise = _SUMMARIES.get(event_type)
    return summarise(data) if summarise else _short(data)


def _text(*names: str) -> Callable[[Mapping[str, Any]], str]:
    """Return a function that returns the first of these fields that has text."""
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


_SUMMARIES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
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
