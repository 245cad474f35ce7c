"""The assignment: the one document that tells a worker what to do."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any


class ExecutionMode(StrEnum):
    """What kind of outcome is expected."""

    EXPLORATION = "exploration"  #: look and report; no push expected
    IMPLEMENTATION = "implementation"  #: change, commit and push
    VALIDATION = "validation"  #: check what is there


#: How a prompt begins to say that the work of an earlier attempt did not pass.
NOT_ACCEPTED = "The previous attempt was not accepted:"

#: The kernel takes at most 128 KiB in one variable; longer descriptions come by `GET …/task`.
INLINE_DESCRIPTION_BYTES = 48 * 1024

#: How much may wait in a sandbox to be sent.
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
    #: Shell commands that will have to pass, shown to the agent.
    acceptance: tuple[str, ...] = ()
    #: Why the attempt before this one was not accepted: the failed checks with their output.
    feedback: str | None = None
    model: str | None = None
    max_turns: int = 100
    max_budget_usd: float | None = None
    permission_mode: str = "acceptEdits"
    heartbeat_seconds: float = 30.0
    linger_seconds: float = 0.0
    #: After so long the agent is stopped, and what there is is handed in.
    max_seconds: float | None = None
    #: When so much waits on disk to be sent, the agent waits too.
    spool_bytes: int = DEFAULT_SPOOL_BYTES

    #: Where unfinished work is pushed to; None means `wip/<task_id>`.
    wip_branch: str | None = None
    #: The sandbox's row has ended, so its events are no longer taken: the platform has read them from its spool.
    has_ended: bool = False

    def encode(self) -> str:
        """Base64 of JSON, as it goes into the environment."""
        return base64.b64encode(json.dumps(asdict(self)).encode()).decode()

    @classmethod
    def decode(cls, text: str) -> Assignment:
        """The inverse of `encode`."""
        return cls.from_fields(json.loads(base64.b64decode(text)))

    @classmethod
    def from_fields(cls, raw: Mapping[str, Any]) -> Assignment:
        """The assignment with these fields, which must be there; those this version does not know are ignored."""
        known = {field.name for field in fields(cls)}
        values = {key: value for key, value in raw.items() if key in known}
        values["acceptance"] = tuple(values.get("acceptance") or ())
        return cls(**values)
