"""The assignment: the one document that describes a worker's task."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any


class ExecutionMode(StrEnum):
    """The kind of outcome that is expected."""

    EXPLORATION = "exploration"  #: look and report; no push expected
    IMPLEMENTATION = "implementation"  #: change, commit and push
    VALIDATION = "validation"  #: check what is there


#: How a prompt starts that gives the reason why the previous attempt was not accepted.
NOT_ACCEPTED = "The previous attempt was not accepted:"

#: The kernel accepts 128 KiB in one variable; longer descriptions are fetched with `GET …/task`.
INLINE_DESCRIPTION_BYTES = 48 * 1024

#: How many unsent bytes a sandbox may hold.
DEFAULT_SPOOL_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Assignment:
    """Travels as `TASK_DATA_BASE64`. Without `description` the worker fetches it from `GET …/task`."""

    sandbox_id: str
    task_id: str
    attempt: int
    title: str
    description: str | None
    branch_name: str
    default_branch: str
    git_url: str
    mode: str = ExecutionMode.IMPLEMENTATION
    #: Shell commands that must pass, shown to the agent.
    acceptance: tuple[str, ...] = ()
    #: Why the previous attempt was not accepted: the failed checks with their output.
    feedback: str | None = None
    model: str | None = None
    max_turns: int = 100
    max_budget_usd: float | None = None
    permission_mode: str = "acceptEdits"
    heartbeat_seconds: float = 30.0
    linger_seconds: float = 0.0
    #: After this time the agent is stopped, and its work so far is pushed.
    max_seconds: float | None = None
    #: The agent waits while this many unsent bytes are on disk.
    spool_bytes: int = DEFAULT_SPOOL_BYTES

    #: The branch for unfinished work; None means `wip/<task_id>`.
    wip_branch: str | None = None
    #: The sandbox's row has ended: the platform has read the spool and accepts no more events.
    has_ended: bool = False

    def encode(self) -> str:
        """Return the assignment as base64 of JSON, for the environment."""
        return base64.b64encode(json.dumps(asdict(self)).encode()).decode()

    @classmethod
    def decode(cls, text: str) -> Assignment:
        """Read what `encode` returned."""
        return cls.from_fields(json.loads(base64.b64decode(text)))

    @classmethod
    def from_fields(cls, raw: Mapping[str, Any]) -> Assignment:
        """Return the assignment with these fields. Unknown fields are ignored; a missing one raises `TypeError`."""
        known = {field.name for field in fields(cls)}
        values = {key: value for key, value in raw.items() if key in known}
        values["acceptance"] = tuple(values.get("acceptance") or ())
        return cls(**values)
