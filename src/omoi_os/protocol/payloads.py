"""What each type of event carries. A field may be absent; one that is there has the type named here.

Large values are cut for the row: `x` then comes with `x_truncated`, `x_size` and `x_blob`, the hash under which it is
kept whole. Fields that are not named here are kept as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, TypedDict

from omoi_os.protocol.events import EventType

ErrorType = Literal["sigkill", "oom", "model", "network", "tool", "environment", "unknown"]


class Payload(TypedDict, total=False):
    """What any event of an agent may carry."""

    turn: int
    #: The call of the sub-agent that this belongs to.
    parent_tool_use_id: str


class Started(Payload, total=False):
    """The worker is there."""

    attempt: int
    branch_name: str | None
    model: str | None
    mode: str


class SystemMessage(Payload, total=False):
    """What the agent's CLI says about itself."""

    subtype: str
    session_id: str
    #: With `init`, of an attempt that goes on with the conversation of an earlier one: its session.
    resumed_session_id: str
    tools: list[Any]


class AssistantMessage(Payload, total=False):
    """A reply of the model begins."""

    message_id: str | None
    model: str | None
    error: str | None


class Said(Payload, total=False):
    """A text of the model: what it says, or what it thinks."""

    text: str


class ToolUse(Payload, total=False):
    """A tool is called."""

    tool: str
    tool_use_id: str
    input: Any


class ToolCompleted(Payload, total=False):
    """A tool has answered."""

    tool: str
    tool_use_id: str
    is_error: bool
    output: str
    duration_ms: int | float


class UserToolResult(Payload, total=False):
    """What the model is told of a tool's answer, in short."""

    tool: str
    tool_use_id: str
    is_error: bool
    content: str
    size: int


class FileEdited(Payload, total=False):
    """A file was changed, by an editing tool or by a command."""

    file_path: str
    change_type: Literal["created", "modified", "deleted", "renamed"]
    #: Of a renamed file: what it was called before.
    old_path: str | None
    lines_added: int
    lines_removed: int
    #: A binary file has no lines; its diff says only that it differs.
    binary: bool
    diff_preview: str
    #: None when it is fetched by `GET …/events/{event_id}/diff`.
    full_diff: str | None
    diff_size: int
    diff_blob: str | None
    #: The file is too large to be looked into; its `size` is said instead.
    too_large: bool
    size: int
    tool: str
    tool_use_id: str | None


class SubagentInvoked(Payload, total=False):
    """A sub-agent is given work."""

    tool_use_id: str
    subagent_type: str | None
    description: str | None
    prompt: str | None


class SubagentCompleted(Payload, total=False):
    """A sub-agent has answered."""

    tool_use_id: str
    is_error: bool
    output: str
    duration_ms: int | float


class SkillInvoked(Payload, total=False):
    """A skill is used."""

    tool_use_id: str
    skill: str | None
    args: Any


class MessageInjected(Payload, total=False):
    """A message was handed to the agent: the receipt of its delivery."""

    message_id: str
    message_type: str
    content: str
    sender: str


class Waiting(Payload, total=False):
    """The agent is done and waits for follow-up messages."""

    linger_seconds: int | float
    commit_sha: str | None


class Interrupted(Payload, total=False):
    """The agent's turn was stopped."""

    reason: str
    message_id: str | None


class Heartbeat(Payload, total=False):
    """The worker lives, and this is what its agent does."""

    status: str
    current_tool: str | None
    current_tool_since: str | None
    rss_mb: int | float | None
    spooled: int
    #: Whether the agent has to wait because so much waits to be sent.
    spool_full: bool
    busy: bool
    children: int


class RateLimited(Payload, total=False):
    """The model's host asks for patience."""

    attempt: int | float
    max_retries: int | float
    retry_delay_ms: int | float


class Trouble(Payload, total=False):
    """Something went wrong; the run may go on."""

    error: str
    error_type: ErrorType
    hint: str
    #: What of a reply was there when it broke off.
    partial_output: str
    #: The agent starts without the conversation of the attempt before: what was said in it is delivered again.
    conversation_lost: bool
    #: This stands for an event whose bytes in the worker's spool are not what was written.
    spool_corrupt: bool


class Completed(Payload, total=False):
    """The agent says that it is done. The platform decides whether that is so, and the sandbox's row has what the
    gateway metered: the cost and tokens here are the agent's own account."""

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
    #: Rounds of an implementation, see `Iteration`.
    iterations: int
    #: What the session changed in all.
    session_diff: str


class Failed(Trouble, total=False):
    """The attempt is over without a result."""

    turns: int
    cost_usd: int | float
    tokens: int
    session_id: str | None
    stop_reason: str
    session_diff: str


class Shutdown(Payload, total=False):
    """The worker was told to go."""

    reason: str
    wip_commit: str | None
    session_id: str | None
    session_diff: str


class Iteration(Payload, total=False):
    """One round of a run that goes on until its checks pass."""

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


#: The whole catalogue of what sandboxes report. Types that are not here are kept, and marked as unknown.
PAYLOADS: Mapping[str, type] = MappingProxyType(
    {
        EventType.AGENT_STARTED: Started,
        EventType.AGENT_SYSTEM_MESSAGE: SystemMessage,
        EventType.AGENT_ASSISTANT_MESSAGE: AssistantMessage,
        EventType.AGENT_THINKING: Said,
        EventType.AGENT_MESSAGE: Said,
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
        EventType.AGENT_STREAM_ERROR: Trouble,
        EventType.AGENT_ERROR: Trouble,
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
