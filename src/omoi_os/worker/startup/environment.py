"""The environment: what the platform tells a worker at its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from omoi_os.protocol.assignment import Assignment
from omoi_os.worker.paths import Places
from omoi_os.worker.startup.variables import assignment as read_assignment


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
        assignment = Assignment.from_fields(read_assignment(variables))
        return cls(
            sandbox_id=variables["SANDBOX_ID"],
            assignment=assignment,
            events_url=variables["CALLBACK_URL"],
            token=variables["ANTHROPIC_AUTH_TOKEN"],
            places=Places.from_environ(variables),
            variables=variables,
        )
