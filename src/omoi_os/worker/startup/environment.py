"""The environment with which the platform starts a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from omoi_os.protocol.assignment import Assignment
from omoi_os.worker.paths import WorkerPaths
from omoi_os.worker.startup.variables import assignment as read_assignment


@dataclass(frozen=True, slots=True)
class Environment:
    """The variables of contract section 2 that a worker needs."""

    sandbox_id: str
    assignment: Assignment
    events_url: str
    token: str
    paths: WorkerPaths
    #: All variables, for the processes that the worker starts.
    variables: Mapping[str, str]

    @classmethod
    def read(cls, variables: Mapping[str, str]) -> Environment:
        """Read and validate the variables. Raises `BadEnvironment`, which names the first invalid one."""
        assignment = Assignment.from_fields(read_assignment(variables))
        return cls(
            sandbox_id=variables["SANDBOX_ID"],
            assignment=assignment,
            events_url=variables["CALLBACK_URL"],
            token=variables["ANTHROPIC_AUTH_TOKEN"],
            paths=WorkerPaths.from_environ(variables),
            variables=variables,
        )
