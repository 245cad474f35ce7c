"""Translate the SDK's messages into events. Reads nothing but its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from omoi_os.protocol.events import Event, EventType
from omoi_os.worker.agents.claude.sdk import (
    AssistantMessage,
    Message,
    RateLimitEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from omoi_os.worker.reporter.truncation import cut_text
from omoi_os.worker.repository.changes import Compared, missing_changes
from omoi_os.worker.repository.diffs import Diff, diff_patch, diff_texts
from omoi_os.worker.repository.patches import file_edit

#: The sub-agent tool has one name on the wire and another in the list of tools.
SUBAGENT_TOOLS = ("Agent", "Task")

#: Tools whose results name the file they edited.
EDITORS = ("Write", "Edit")

#: The fields of the CLI's first message that are kept.
_INIT_FIELDS = ("session_id", "cwd", "model", "permissionMode", "tools", "agents", "skills", "claude_code_version")


@dataclass(slots=True)
class Conversation:
    """The state that is kept from one message to the next."""

    workspace: str
    #: The session of an earlier attempt that this one resumes.
    resumed: str | None = None
    turn: int = 0
    session_id: str | None = None
    last_message_id: str | None = None
    #: Running tools: their name and start time in seconds.
    tools: dict[str, tuple[str, float]] = field(default_factory=dict)
    #: The full output of the last tool, if the model saw only its start.
    full_output: str | None = None
    #: What each call changed in the workspace, by its id.
    compared: dict[str, Compared] = field(default_factory=dict)
    #: Calls whose edit is found by the comparison, so that the tool's own description of it is not needed.
    covered: set[str] = field(default_factory=set)


def translate(message: Message, conversation: Conversation, *, now: float) -> list[Event]:
    """Return the events of one message. `now` is a monotonic clock. Results are translated in `results`."""
    if isinstance(message, AssistantMessage):
        events = _assistant(message, conversation, now=now)
    elif isinstance(message, UserMessage):
        events = _user(message, conversation, now=now)
    elif isinstance(message, SystemMessage):
        events = _system(message, conversation)
    elif isinstance(message, RateLimitEvent):
        info = message.rate_limit_info
        limited = {"status": info.status, "resets_at": info.resets_at, "rate_limit_type": info.rate_limit_type}
        events = [Event(EventType.AGENT_RATE_LIMITED, limited)] if info.status != "allowed" else []
    else:
        events = []
    for event in events:
        event.event_data.setdefault("turn", conversation.turn)
    return events


def _system(message: SystemMessage, conversation: Conversation) -> list[Event]:
    data = message.data
    if message.subtype == "init":
        session_id = data.get("session_id")
        conversation.session_id = session_id if isinstance(session_id, str) else conversation.session_id
        kept = {name: data[name] for name in _INIT_FIELDS if name in data}
        if conversation.resumed is not None:
            kept["resumed_session_id"] = conversation.resumed
        return [Event(EventType.AGENT_SYSTEM_MESSAGE, {"subtype": "init", **kept})]
    if message.subtype == "api_retry":
        return [_retry(data)]
    if message.subtype in ("status", "thinking_tokens", "task_progress"):
        return []
    rest = {name: value for name, value in data.items() if name not in ("type", "subtype", "uuid", "session_id")}
    return [Event(EventType.AGENT_SYSTEM_MESSAGE, {"subtype": message.subtype, **rest})]


def _retry(data: Mapping[str, Any]) -> Event:
    """Return the event of a retried request: the API was busy, or without a status its answer was cut off."""
    names = ("attempt", "max_retries", "retry_delay_ms", "error_status", "error")
    retry = {name: data[name] for name in names if name in data}
    if retry.get("error_status") is not None:
        return Event(EventType.AGENT_RATE_LIMITED, retry)
    error = {"error": "The model's answer was cut off.", "error_type": "network", "hint": "The request is retried."}
    return Event(EventType.AGENT_STREAM_ERROR, retry | error)


def _assistant(message: AssistantMessage, conversation: Conversation, *, now: float) -> list[Event]:
    events: list[Event] = []
    parent = _parent(message.parent_tool_use_id)
    # The CLI sends each block of a reply as a separate message with the reply's id.
    if message.message_id is None or message.message_id != conversation.last_message_id:
        conversation.last_message_id = message.message_id
        if message.parent_tool_use_id is None:
            conversation.turn += 1
        about = {"message_id": message.message_id, "model": message.model, "error": message.error}
        events.append(Event(EventType.AGENT_ASSISTANT_MESSAGE, {**about, **parent}))
    for block in message.content:
        if isinstance(block, TextBlock):
            events.append(Event(EventType.AGENT_MESSAGE, {"text": block.text, **parent}))
        elif isinstance(block, ThinkingBlock) and block.thinking:
            events.append(Event(EventType.AGENT_THINKING, {"text": block.thinking, **parent}))
        elif isinstance(block, ToolUseBlock):
            conversation.tools[block.id] = (block.name, now)
            events += _tool_use(block, parent)
    return events


def _tool_use(block: ToolUseBlock, parent: dict[str, str]) -> list[Event]:
    named = {"tool": block.name, "tool_use_id": block.id, "input": block.input, **parent}
    events = [Event(EventType.AGENT_TOOL_USE, named)]
    if block.name in SUBAGENT_TOOLS:
        names = ("subagent_type", "description", "prompt")
        about = {name: block.input.get(name) for name in names}
        events.append(Event(EventType.AGENT_SUBAGENT_INVOKED, {"tool_use_id": block.id, **about}))
    elif block.name == "Skill":
        about = {"skill": block.input.get("skill") or block.input.get("command"), "args": block.input.get("args")}
        events.append(Event(EventType.AGENT_SKILL_INVOKED, {"tool_use_id": block.id, **about}))
    return events


def _user(message: UserMessage, conversation: Conversation, *, now: float) -> list[Event]:
    if isinstance(message.content, str):
        return []
    events: list[Event] = []
    parent = _parent(message.parent_tool_use_id)
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            events += _tool_result(block, message.tool_use_result, conversation, parent=parent, now=now)
    return events


def _tool_result(
    block: ToolResultBlock, structured: Any, conversation: Conversation, *, parent: dict[str, str], now: float
) -> list[Event]:
    tool, started = conversation.tools.pop(block.tool_use_id, ("unknown", now))
    output = _text(block.content)
    failed = bool(block.is_error)
    named = {"tool": tool, "tool_use_id": block.tool_use_id, "is_error": failed, **parent}
    took = {"duration_ms": round((now - started) * 1000)}
    events = [
        Event(EventType.AGENT_TOOL_COMPLETED, {**named, "output": conversation.full_output or output, **took}),
        # The full output is in the event above; this is the start of what the model saw.
        Event(EventType.AGENT_USER_TOOL_RESULT, {**named, "content": cut_text(output, 512), "size": len(output)}),
    ]
    about_call = {"tool": tool, "tool_use_id": block.tool_use_id, **parent}
    if not failed and tool in EDITORS and block.tool_use_id not in conversation.covered:
        edits = _described_edit(structured, conversation.workspace)
        events += [Event(EventType.AGENT_FILE_EDITED, {**edit, **about_call}) for edit in edits]
    conversation.covered.discard(block.tool_use_id)
    events += edit_events(conversation.compared.pop(block.tool_use_id, Compared()), about=about_call)
    if tool in SUBAGENT_TOOLS:
        about = {"tool_use_id": block.tool_use_id, "is_error": failed, "output": output, **took}
        events.append(Event(EventType.AGENT_SUBAGENT_COMPLETED, about))
    return events


def edit_events(compared: Compared, *, about: Mapping[str, Any]) -> list[Event]:
    """Return the events of changed files. `about` identifies the call that changed them."""
    events = [Event(EventType.AGENT_FILE_EDITED, {**edit, **about}) for edit in compared.edits]
    if compared.omitted:
        more = {"subtype": "more_files_changed", "files": compared.omitted}
        events.append(Event(EventType.AGENT_SYSTEM_MESSAGE, {**more, **about}))
    if compared.error is not None:
        events.append(Event(EventType.AGENT_ERROR, missing_changes(compared.error)))
    return events


def _described_edit(structured: Any, workspace: str) -> list[dict[str, Any]]:
    """Return the edit that the tool's result describes, for files that no comparison includes."""
    path = structured.get("filePath") if isinstance(structured, dict) else None
    if not isinstance(path, str):
        return []
    name = _relative(path, workspace)
    created = structured.get("type") == "create"
    diff = _diff(name, structured, created=created)
    edit = file_edit(name, "created" if created else "modified", diff=diff.text, binary=False)
    return [{**edit, "lines_added": diff.lines_added, "lines_removed": diff.lines_removed}]


def _diff(name: str, structured: dict[str, Any], *, created: bool) -> Diff:
    original = structured.get("originalFile")
    if isinstance(structured.get("content"), str) and (created or isinstance(original, str)):
        return diff_texts(name, None if created else original, structured["content"])
    old, new = structured.get("oldString"), structured.get("newString")
    if isinstance(original, str) and isinstance(old, str) and isinstance(new, str) and old in original:
        count = -1 if structured.get("replaceAll") else 1
        return diff_texts(name, original, original.replace(old, new, count) if old else new + original)
    patch = structured.get("structuredPatch")
    return diff_patch(name, [hunk for hunk in patch if isinstance(hunk, dict)] if isinstance(patch, list) else [])


def _relative(path: str, workspace: str) -> str:
    """Return the path relative to the workspace, or without its leading slash if it is outside."""
    try:
        return str(PurePosixPath(path).relative_to(workspace))
    except ValueError:
        return path.lstrip("/")


def _text(content: str | list[dict[str, Any]] | None) -> str:
    if not isinstance(content, list):
        return content or ""
    parts = [str(item.get("text", "")) if item.get("type") == "text" else f"[{item.get('type')}]" for item in content]
    return "\n".join(parts)


def _parent(tool_use_id: str | None) -> dict[str, str]:
    return {"parent_tool_use_id": tool_use_id} if tool_use_id else {}
