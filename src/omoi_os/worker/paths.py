"""The paths a worker uses inside its sandbox. Variables can name others for a worker that runs elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from omoi_os.protocol import paths
from omoi_os.worker.startup import handover


@dataclass(frozen=True, slots=True)
class WorkerPaths:
    """The folders of a worker. With the default home the spool is `protocol.paths.SPOOL`."""

    workspace: Path = Path(paths.WORKSPACE)
    home: Path = Path(paths.HOME)
    gateway_folder: Path = Path(paths.GATEWAY_FOLDER)
    mirror: Path = Path(paths.MIRROR)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> WorkerPaths:
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
        """The file of spooled events."""
        return self.private / Path(paths.SPOOL).name

    @property
    def pid_file(self) -> Path:
        """The reporter's process id, for the command that stops it."""
        return self.private / handover.PID

    @property
    def base_file(self) -> Path:
        """The pushed commit that the workspace started from. It exists once the checkout is complete."""
        return self.private / "base"

    @property
    def prepared_file(self) -> Path:
        """The marker of a prepared checkout, until the worker starts to fetch its branch."""
        return self.workspace / paths.PREPARED

    @property
    def ready_file(self) -> Path:
        """Written by a waiting worker once the agent driver has loaded."""
        return self.private / handover.READY

    @property
    def taken_file(self) -> Path:
        """Written by a waiting worker when it gets its task: a warm sandbox is used once."""
        return self.private / handover.TAKEN

    @property
    def variables_file(self) -> Path:
        """The variables that were handed over; a salvage in a warm sandbox reads them here."""
        return self.private / handover.VARIABLES

    @property
    def handover_socket(self) -> Path:
        """The socket on which a waiting worker listens for its task."""
        return self.private / handover.SOCKET

    @property
    def notes(self) -> Path:
        """The agent's notes. They are outside the repository, so they are never committed."""
        return self.home / "notes.md"

    @property
    def blobs(self) -> Path:
        """Large values that wait to be uploaded, each named by its hash."""
        return self.private / "blobs"

    @property
    def snapshots(self) -> Path:
        """The git repository with which changes of the workspace are found."""
        return self.private / "snapshots"

    @property
    def gateway_socket(self) -> Path:
        """The gateway socket. It exists only where its folder is bound into the sandbox."""
        return self.gateway_folder / paths.GATEWAY_SOCKET
