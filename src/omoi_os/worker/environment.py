"""The environment: what the platform tells a worker at its start."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from omoi_os.protocol.assignment import Assignment
from omoi_os.worker.places import Places


class BadEnvironment(Exception):
    """A variable is missing or unreadable; the worker cannot start."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The variables of contract section 2 that a worker needs."""

    sandbox_id: str
    assignment: Assignment
    events_url: str
    token: str
    places: Places
    #: All variables, for the processes that the worker starts.
    variables: Mapping[str, str]

    @classmethod
    def read(cls, variables: Mapping[str, str]) -> Environment:
        """Check and read them; `BadEnvironment` names the first that is wrong."""
        needed = ("SANDBOX_ID", "TASK_DATA_BASE64", "CALLBACK_URL", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN")
        missing = [name for name in needed if not variables.get(name)]
        if missing:
            raise BadEnvironment(f"{missing[0]} is not set; the orchestrator starts the worker with it")
        try:
            assignment = Assignment.decode(variables["TASK_DATA_BASE64"])
        except (ValueError, TypeError, AttributeError) as error:
            raise BadEnvironment(f"TASK_DATA_BASE64 is not an assignment: {error}") from error
        return cls(
            sandbox_id=variables["SANDBOX_ID"],
            assignment=assignment,
            events_url=variables["CALLBACK_URL"],
            token=variables["ANTHROPIC_AUTH_TOKEN"],
            places=Places.from_environ(variables),
            variables=variables,
        )

    @classmethod
    def parse(cls, raw: bytes) -> Environment:
        """Read them from a JSON object, which is how they come to a process that has none."""
        try:
            variables = json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise BadEnvironment(f"the variables are not JSON: {error}") from error
        if not isinstance(variables, dict) or not all(isinstance(value, str) for value in variables.values()):
            raise BadEnvironment("the variables are not a JSON object of texts")
        return cls.read(variables)
