"""Where things lie inside a sandbox; other places can be named for a worker that runs elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from omoi_os.protocol import paths
from omoi_os.worker.startup import handover


@dataclass(frozen=True, slots=True)
class Places:
    """The folders a worker uses. The spool of the default home is `protocol.paths.SPOOL`."""

    workspace: Path = Path(paths.WORKSPACE)
    home: Path = Path(paths.HOME)
    gateway_folder: Path = Path(paths.GATEWAY_FOLDER)
    mirror: Path = Path(paths.MIRROR)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Places:
        """Read `OMOI_WORKSPACE`, `HOME`, `OMOI_GATEWAY_FOLDER` and `OMOI_MIRROR`, which all have defaults."""
        return cls(
            workspace=Path(environ.get("OMOI_WORKSPACE") or paths.WORKSPACE),
            home=Path(environ.get("HOME") or paths.HOME),
            gateway_folder=Path(environ.get("OMOI_GATEWAY_FOLDER") or paths.GATEWAY_FOLDER),
            mirror=Path(environ.get("OMOI_MIRROR") or paths.MIRROR),
        )

    @property
    def private(self) -> Path:
        """The worker's own folder in the home."""
        return self.home / handover.FOLDER

    @property
    def spool(self) -> Path:
        """The file of events."""
        return self.private / Path(paths.SPOOL).name

    @property
    def pid_file(self) -> Path:
        """The reporter's process id, for whoever asks it to stop."""
        return self.private / handover.PID

    @property
    def base_file(self) -> Path:
        """The pushed commit that the workspace started from; it exists once the checkout is whole."""
        return self.private / "base"

    @property
    def prepared_file(self) -> Path:
        """In a workspace that began with a prepared checkout, until its worker begins to fetch."""
        return self.workspace / paths.PREPARED

    @property
    def ready_file(self) -> Path:
        """Written by a waiting worker once the agent's SDK is loaded."""
        return self.private / handover.READY

    @property
    def taken_file(self) -> Path:
        """Written by a waiting worker when it gets its task: a warm sandbox is used once."""
        return self.private / handover.TAKEN

    @property
    def variables_file(self) -> Path:
        """What was handed over: the environment that a salvage in this sandbox would not have otherwise."""
        return self.private / handover.VARIABLES

    @property
    def handover_socket(self) -> Path:
        """Where a waiting worker listens for its task."""
        return self.private / handover.SOCKET

    @property
    def notes(self) -> Path:
        """What the agent writes down for itself; outside of the repository, so it is never committed."""
        return self.home / "notes.md"

    @property
    def blobs(self) -> Path:
        """Large values that wait to be put, each named by its hash."""
        return self.private / "blobs"

    @property
    def tree(self) -> Path:
        """The repository with which the workspace's changes are found."""
        return self.private / "tree"

    @property
    def agent_config(self) -> Path:
        """The folder in which the agent's CLI keeps its sessions."""
        return self.home / ".claude"

    @property
    def gateway_socket(self) -> Path:
        """The gateway's socket; it exists only where a folder for it is bound in."""
        return self.gateway_folder / paths.GATEWAY_SOCKET
