"""What a server of git's smart HTTP protocol needs from a forge."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from omoi_os.forges.base import Repository


class GitBackend(Protocol):
    """Serves and receives from a bare repository on this machine. Any method may raise `ForgeError`.

    `commits` of a push are the commits that it moves refs to, by ref.
    """

    #: Refs below this prefix are hidden from git clients.
    hidden_refs: str
    #: The largest pack that one push may contain.
    max_push_bytes: int

    async def open(self, repository: Repository) -> Path:
        """Bring the bare repository up to date and return its folder. Raise `NotFound` if it does not exist yet."""

    async def prepare_push(self, repository: Repository, commits: Mapping[str, str]) -> None:
        """Make sure that git can move these refs. Called before git receives a push that the server allows."""

    async def publish(self, repository: Repository, commits: Mapping[str, str]) -> None:
        """Make a push durable at the forge. The client gets its answer after this returns.

        Git may have refused some of the refs: those are not at their commit.
        """
