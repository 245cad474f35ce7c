"""Where things lie inside a sandbox; other places can be named for a worker that runs elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from omoi_os.protocol import paths


@dataclass(frozen=True, slots=True)
class Places:
    """The folders a worker uses. The spool of the default home is `protocol.paths.SPOOL`."""

    workspace: Path = Path(paths.WORKSPACE)
    home: Path = Path(paths.HOME)
    door: Path = Path(paths.DOOR)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Places:
        """`OMOI_WORKSPACE`, `HOME` and `OMOI_DOOR`, each with the sandbox's own place as its default."""
        return cls(
            workspace=Path(environ.get("OMOI_WORKSPACE") or paths.WORKSPACE),
            home=Path(environ.get("HOME") or paths.HOME),
            door=Path(environ.get("OMOI_DOOR") or paths.DOOR),
        )

    @property
    def private(self) -> Path:
        """The worker's own folder in the home."""
        return self.home / ".omoi"

    @property
    def spool(self) -> Path:
        """The file of events."""
        return self.private / Path(paths.SPOOL).name

    @property
    def pid_file(self) -> Path:
        """The reporter's process id, for whoever asks it to stop."""
        return self.private / Path(paths.PID_FILE).name

    @property
    def blobs(self) -> Path:
        """Large values that wait to be put, each named by its hash."""
        return self.private / "blobs"

    @property
    def agent_config(self) -> Path:
        """The folder in which the agent's CLI keeps its sessions."""
        return self.home / ".claude"

    @property
    def door_socket(self) -> Path:
        """The gateway's socket; it exists only where the door is a folder bound in."""
        return self.door / paths.DOOR_SOCKET
