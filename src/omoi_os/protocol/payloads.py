"""The data of each type of event. Every field may be absent; a field that is present has the type given here.

A large value is truncated in the row: `x` then comes with `x_truncated`, `x_size` and `x_blob`, the hash of the blob
that holds all of it. Fields that are not listed here are stored as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, TypedDict

from omoi_os.protocol.events import EventType

ErrorType = Literal["sigkill", "oom", "model", "network", "tool", "environment", "unknown"]


class Payload(TypedDict, total=False):
    """Fields that any event of an agent may have."""

    turn: int
    #: The tool call of the sub-agent that this belongs to.
    parent_tool_use_id: str


class Started(Payload, total=False):
    """The worker has started."""

    attempt: int
    branch_name: str | None
    model: str | None
    mode: str


class SystemMessage(Payload, total=False):
    """A message of the agent's program about itself."""

    subtype: str
    session_id: str
    #: With `init`, the session of an earlier attempt that this one resumes.
    resumed_session_id: str
    tools: list[Any]


class AssistantMessage(Payload, total=False):
    """A reply of the model starts."""

    message_id: str | None
    model: str | None
    error: str | None


class AgentText(Payload, total=False):
    """A text of the model, or of its thinking."""

    text: str


class ToolUse(Payload, total=False):
    """The agent calls a tool."""

    tool: str
    tool_use_id: str
    input: Any


class ToolCompleted(Payload, total=False):
    """A tool call has ended."""

    tool: str
    tool_use_id: str
    is_error: bool
    output: str
    duration_ms: int | float


class UserToolResult(Payload, total=False):
    """The start of a tool's output, as the model receives it."""

    tool: str
    tool_use_id: str
    is_error: bool
    content: str
    size: int


class FileEdited(Payload, total=False):
    """A file was changed by an editing tool or by a command."""

    file_path: str
    change_type: Literal["created", "modified", "deleted", "renamed"]
    #: The former name of a renamed file.
    old_path: str | None
    lines_added: int
    lines_removed: int
    #: A binary file has no lines; its diff says only that it differs.
    binary: bool
    diff_preview: str
    #: None if it has to be fetched with `GET …/events/{event_id}/diff`.
    full_diff: str | None
    diff_size: int
    diff_blob: str | None
    #: The file is too large for a diff; `size` is set instead.
    too_large: bool
    size: int
    tool: str
    tool_use_id: str | None


class SubagentInvoked(Payload, total=False):
    """The agent starts a sub-agent."""

    tool_use_id: str
    subagent_type: str | None
    description: str | None
    prompt: str | None


class SubagentCompleted(Payload, total=False):
    """A sub-agent has finished."""

    tool_use_id: str
    is_error: bool
    output: str
    duration_ms: int | float


class SkillInvoked(Payload, total=False):
    """The agent uses a skill."""

    tool_use_id: str
    skill: str | None
    args: Any


class MessageInjected(Payload, total=False):
    """A message was delivered to the agent."""

    message_id: str
    message_type: str
    content: str
    sender: str


class Waiting(Payload, total=False):
    """The agent has finished and waits for follow-up messages."""

    linger_seconds: int | float
    commit_sha: str | None


class Interrupted(Payload, total=False):
    """The agent's turn was stopped."""

    reason: str
    message_id: str | None


class Heartbeat(Payload, total=False):
    """The worker is alive, with the current activity of its agent."""

    status: str
    current_tool: str | None
    current_tool_since: str | None
    rss_mb: int | float | None
    spooled: int
    #: Whether the agent waits because the spool is full.
    spool_full: bool
    busy: bool
    children: int


class RateLimited(Payload, total=False):
    """The model's API is busy, and the request is retried."""

    attempt: int | float
    max_retries: int | float
    retry_delay_ms: int | float


class ErrorReport(Payload, total=False):
    """An error. The attempt may continue."""

    error: str
    error_type: ErrorType
    hint: str
    #: The part of a reply that had been streamed when it was cut off.
    partial_output: str
    #: The agent starts without the conversation of the previous attempt; its messages are delivered again.
    conversation_lost: bool
    #: This event replaces one that was damaged in the worker's spool.
    spool_corrupt: bool


class Completed(Payload, total=False):
    """The agent reports that it is done; the platform verifies it.

    Cost and tokens are the agent's own count. The sandbox's row has what the gateway metered.
    """

    success: bool
    final_output: str
    turns: int
    cost_usd: int | float
    tokens: int
    session_id: str | None
    stop_reason: str | None
    branch_name: str | None
    commit_sha: str | None
    files_changed: list[str]
    #: The iterations of an implementation; see `Iteration`.
    iterations: int
    #: One unified diff of everything the session changed.
    session_diff: str


class Failed(ErrorReport, total=False):
    """The attempt ended without a result."""

    turns: int
    cost_usd: int | float
    tokens: int
    session_id: str | None
    stop_reason: str
    session_diff: str


class Shutdown(Payload, total=False):
    """The worker was stopped."""

    reason: str
    wip_commit: str | None
    session_id: str | None
    session_diff: str


class Iteration(Payload, total=False):
    """One iteration of an implementation, which continues until its checks pass."""

    iteration: int
    max_iterations: int
    notes: str | None
    cost_usd: int | float
    error: str
    passed: bool
    checks: list[Any]


class SpecPhase(Payload, total=False):
    """A phase of a spec."""

    spec_id: str
    phase: str
    attempt: int
    error: str


#: The data of every type that a sandbox may report. Other types are stored, and marked as unknown.
PAYLOADS: Mapping[str, type] = MappingProxyType(
    {
        EventType.AGENT_STARTED: Started,
        EventType.AGENT_SYSTEM_MESSAGE: SystemMessage,
        EventType.AGENT_ASSISTANT_MESSAGE: AssistantMessage,
        EventType.AGENT_THINKING: AgentText,
        EventType.AGENT_MESSAGE: AgentText,
        EventType.AGENT_TOOL_USE: ToolUse,
        EventType.AGENT_TOOL_COMPLETED: ToolCompleted,
        EventType.AGENT_USER_TOOL_RESULT: UserToolResult,
        EventType.AGENT_FILE_EDITED: FileEdited,
        EventType.AGENT_SUBAGENT_INVOKED: SubagentInvoked,
        EventType.AGENT_SUBAGENT_COMPLETED: SubagentCompleted,
        EventType.AGENT_SKILL_INVOKED: SkillInvoked,
        EventType.AGENT_MESSAGE_INJECTED: MessageInjected,
        EventType.AGENT_WAITING: Waiting,
        EventType.AGENT_INTERRUPTED: Interrupted,
        EventType.AGENT_HEARTBEAT: Heartbeat,
        EventType.AGENT_RATE_LIMITED: RateLimited,
        EventType.AGENT_STREAM_ERROR: ErrorReport,
        EventType.AGENT_ERROR: ErrorReport,
        EventType.AGENT_COMPLETED: Completed,
        EventType.AGENT_FAILED: Failed,
        EventType.AGENT_SHUTDOWN: Shutdown,
        EventType.ITERATION_STARTED: Iteration,
        EventType.ITERATION_COMPLETED: Iteration,
        EventType.ITERATION_FAILED: Iteration,
        EventType.ITERATION_VALIDATION: Iteration,
        EventType.SPEC_PHASE_STARTED: SpecPhase,
        EventType.SPEC_PHASE_COMPLETED: SpecPhase,
        EventType.SPEC_PHASE_RETRY: SpecPhase,
        EventType.SPEC_PHASE_FAILED: SpecPhase,
        EventType.SPEC_EXECUTION_COMPLETED: SpecPhase,
        EventType.SPEC_EXECUTION_FAILED: SpecPhase,
    }
)
