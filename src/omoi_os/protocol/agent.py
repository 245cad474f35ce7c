"""The agent driver interface: orders from the reporter to an agent driver, and the driver's reports.

Both run in one sandbox as separate processes, joined by one socket. Every message is one line of JSON. An agent can
tamper with its driver, so the reporter treats a driver as untrusted: `decode_report` validates each line and raises
`BadMessage`, after which the next line may be fine.

A conversation is `Start`, then any number of `Say` and `Interrupt`, then `End`. The driver reports `Ready` once it has
loaded, `Started` once the conversation has a session, events while a turn runs, and one `TurnEnded` for each turn.
`Failed` is its last report when it cannot continue. Before each tool call it reports `ToolHeld` and waits for the
`ReleaseTool` with the same number, so that an agent never produces events faster than the reporter can store them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from omoi_os.protocol.events import EventType
from omoi_os.protocol.messages import Deliver

#: The longest line either side accepts. One message can hold a whole file before and after an edit.
MAX_LINE_BYTES = 64 * 1024 * 1024

MAX_IDENTIFIER_CHARACTERS = 200

#: The id of a session, a message or a tool call.
Identifier: TypeAlias = str

T = TypeVar("T")


class BadMessage(Exception):
    """A line on the channel is not a valid message. The next line may be."""


class TurnProblem(StrEnum):
    """Why a turn ended with an error."""

    MAX_TURNS = "max_turns"  #: the agent used all its turns
    BUDGET = "budget"  #: the agent used its whole budget
    MODEL = "model"  #: the model's API answered with an error status
    NETWORK = "network"  #: the model was not reached
    UNKNOWN = "unknown"  #: anything else; the message says what


@dataclass(frozen=True, slots=True)
class TurnError:
    """An error that ended a turn."""

    problem: TurnProblem
    #: A sentence for people, without prefixes of the agent's own programs. May be empty.
    message: str = ""
    #: The HTTP status of the model's API, for `TurnProblem.MODEL`.
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one turn."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Start:
    """Start the conversation with its first turn."""

    prompt: str
    #: Text to add to the system prompt.
    guidance: str
    workspace: str
    #: The folder of the git repository with which the driver finds changed files; see `worker.repository.changes`.
    snapshots: str
    #: The driver's whole environment from now on.
    environ: dict[str, str]
    #: The session to resume.
    resume: Identifier | None = None
    #: What `AgentDriver.collect_skills` returned.
    skills: tuple[str, ...] = ()
    model: str | None = None
    max_turns: int | None = None
    max_budget_usd: float | None = None
    permission_mode: str = "acceptEdits"


@dataclass(frozen=True, slots=True)
class Say:
    """Hand a text to the agent: a message with its id, or a prompt of the worker without one."""

    text: str
    deliver: str = Deliver.END_OF_TURN
    message_id: Identifier | None = None
    #: Stop the running turn and do not show the text to the agent. Outside a turn the text starts one.
    only_stop: bool = False


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Stop the turn and the tool that runs in it. Outside a turn it does nothing."""


@dataclass(frozen=True, slots=True)
class ReleaseTool:
    """Let the tool call with this number run."""

    number: int


@dataclass(frozen=True, slots=True)
class End:
    """End the conversation. The driver completes the transcript and exits with 0."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The driver has loaded and waits for `Start`."""


@dataclass(frozen=True, slots=True)
class Started:
    """The conversation has this session. Sent again whenever the session changes."""

    session_id: Identifier


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """An event for the platform; its type is one of `DRIVER_EVENTS`."""

    event_type: str
    event_data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Delivered:
    """The agent has this message: it is part of the next request to the model."""

    message_id: Identifier


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The turn is being stopped, for this message if there is one."""

    message_id: Identifier | None = None


@dataclass(frozen=True, slots=True)
class ToolHeld:
    """A tool call waits until `ReleaseTool` comes with this number."""

    number: int


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn ended. With `pending` above 0 the driver starts the next one by itself."""

    error: TurnError | None = None
    interrupted: bool = False
    #: How many texts wait for the next turn.
    pending: int = 0
    #: The agent's last message.
    final_output: str = ""
    session_id: Identifier | None = None
    #: Why the model stopped, in the model's own word.
    stop_reason: str | None = None
    #: The outcome in the agent's own word, for diagnosis only.
    outcome: str | None = None
    #: The cost of the session so far, including what it cost before it was resumed.
    cost_usd: float | None = None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Failed:
    """The driver cannot continue and exits."""

    error: str
    #: The exit code of the agent's program, negative for a signal.
    exit_code: int | None = None
    #: The part of a reply that had been streamed.
    partial_output: str = ""


DriverOrder: TypeAlias = Start | Say | Interrupt | ReleaseTool | End
DriverReport: TypeAlias = Ready | Started | AgentEvent | Delivered | Interrupted | ToolHeld | TurnEnded | Failed

ORDERS: Mapping[str, type[DriverOrder]] = MappingProxyType(
    {"start": Start, "say": Say, "interrupt": Interrupt, "release_tool": ReleaseTool, "end": End}
)
REPORTS: Mapping[str, type[DriverReport]] = MappingProxyType(
    {
        "ready": Ready,
        "started": Started,
        "event": AgentEvent,
        "delivered": Delivered,
        "interrupted": Interrupted,
        "tool_held": ToolHeld,
        "turn_ended": TurnEnded,
        "failed": Failed,
    }
)
_NAMES = {message: name for table in (ORDERS, REPORTS) for name, message in table.items()}

#: The events a driver may report. How an attempt starts and ends is for the reporter to say.
DRIVER_EVENTS = frozenset(
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


def encode(message: DriverOrder | DriverReport) -> bytes:
    """Return the message as one line. Values that are not JSON become their text."""
    return json.dumps({"type": _NAMES[type(message)], **_shallow(message)}, default=_encode_value).encode() + b"\n"


def decode_order(line: bytes) -> DriverOrder:
    """Return the order on a line. Raises `BadMessage`."""
    return _decode(line, ORDERS)


def decode_report(line: bytes) -> DriverReport:
    """Return the report on a line. Raises `BadMessage`, also for an event that a driver may not report."""
    report = _decode(line, REPORTS)
    if isinstance(report, AgentEvent) and report.event_type not in DRIVER_EVENTS:
        raise BadMessage(f"the event type {report.event_type[:100]!r} is not allowed from an agent driver")
    return report


def _shallow(message: Any) -> dict[str, Any]:
    # `dataclasses.asdict` copies every nested value, and events can be large.
    return {each.name: getattr(message, each.name) for each in fields(message)}


def _encode_value(value: object) -> object:
    return _shallow(value) if is_dataclass(value) else str(value)


def _decode(line: bytes, table: Mapping[str, type[T]]) -> T:
    raw = _parse(line)
    name = raw.get("type")
    found = table.get(name) if isinstance(name, str) else None
    if found is None:
        raise BadMessage(f"unknown message type {str(name)[:100]!r}")
    try:
        return _build(found, raw)
    except ValueError as error:
        raise BadMessage(f"invalid {name!r} message: {error}") from None


def _parse(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise BadMessage(f"a line of more than {MAX_LINE_BYTES} bytes")
    try:
        value = json.loads(line, parse_constant=lambda _: None)
        # A number such as 1e999 becomes infinite only when it is read, and cannot be stored.
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise BadMessage("not a JSON object")
    return value


def _build(message: type[T], raw: object) -> T:
    if not isinstance(raw, dict):
        raise ValueError("expected an object")
    values: dict[str, Any] = {}
    for each in fields(message):  # type: ignore[arg-type]
        if each.name in raw:
            try:
                values[each.name] = _READERS[str(each.type)](raw[each.name])
            except ValueError as error:
                raise ValueError(f"{each.name}: {error}") from None
        elif each.default is MISSING and each.default_factory is MISSING:
            raise ValueError(f"{each.name} is missing")
    return message(**values)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a string")
    return value


def _identifier(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_IDENTIFIER_CHARACTERS:
        raise ValueError(f"expected a string of 1 to {MAX_IDENTIFIER_CHARACTERS} characters")
    return value


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("expected an integer")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("expected a finite number")
    return value


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("expected an object")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("expected a list")
    return tuple(_text(each) for each in value)


def _variables(value: object) -> dict[str, str]:
    return {name: _text(each) for name, each in _object(value).items()}


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


#: How each type of field is read. The keys are the annotations of the fields above.
_READERS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "str": _text,
        "str | None": _optional(_text),
        "Identifier": _identifier,
        "Identifier | None": _optional(_identifier),
        "int": _integer,
        "int | None": _optional(_integer),
        "float | None": _optional(_number),
        "bool": _boolean,
        "tuple[str, ...]": _texts,
        "dict[str, str]": _variables,
        "dict[str, Any]": _object,
        "Usage": lambda value: _build(Usage, value),
        "TurnProblem": TurnProblem,
        "TurnError | None": _optional(lambda value: _build(TurnError, value)),
    }
)
