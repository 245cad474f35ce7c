"""The interface of an agent driver: what the worker needs to know about an agent besides its driver process.

A driver is a package with two modules. `driver` has `main()`, which runs as the driver process: its only argument is
the number of the inherited socket on which it speaks `omoi_os.protocol.agent`. `agent` has `AGENT`, an `AgentDriver`;
it runs in the reporter and so imports nothing but the standard library. `registry` names the package, and
`conformance` checks that a driver keeps the interface's promises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from omoi_os.worker.paths import WorkerPaths


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation that can be resumed."""

    id: str
    #: What it had cost so far. `TurnEnded.cost_usd` of a resumed session starts there.
    cost_usd: float


class AgentDriver(Protocol):
    """Where one agent keeps its files and what it needs in its environment.

    A transcript is one file of lines that the agent only ever appends to. Any method may raise `OSError`.
    """

    name: str

    def environment(self, variables: Mapping[str, str], paths: WorkerPaths) -> dict[str, str]:
        """Return the variables that the agent needs beyond those that every agent gets.

        `variables` is the worker's own environment; only what the agent may see is copied from it.
        """

    def collect_skills(self, paths: WorkerPaths) -> tuple[str, ...]:
        """Prepare the skills of the checked-out repository and return what `Start.skills` carries.

        The repository's settings and hooks are never loaded: they could run commands outside the agent's control.
        """

    def find_transcript(self, paths: WorkerPaths, session_id: str) -> Path | None:
        """Return the transcript file of a session, or None if there is none or the id is not valid."""

    def newest_session(self, paths: WorkerPaths) -> str | None:
        """Return the id of the session that was written last."""

    def restore_transcript(self, paths: WorkerPaths, session_id: str, content: bytes) -> Session | None:
        """Write a saved transcript to where the agent looks for it. Return None if it cannot be resumed."""
