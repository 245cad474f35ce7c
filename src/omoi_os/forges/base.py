"""What every forge does: the platform's side of a repository. Agents reach it through the gateway only."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Repository:
    """One project's repository, as a forge needs to know it."""

    project_id: UUID
    owner: str | None
    name: str | None
    default_branch: str
    #: Where a new repository's content comes from: a path or URL, or nothing for an empty one.
    seed: str | None = None


class Forge(Protocol):
    """Any method may raise `ForgeError`; every one can be repeated."""

    name: str

    async def ensure_repository(self, repository: Repository) -> None:
        """Make the repository, with a first commit on its default branch, unless it is there."""

    async def create_branch(self, repository: Repository, name: str, *, task_id: UUID | None = None) -> str:
        """Create a branch at the head of the default branch, unless it exists; return its head.

        With `task_id` the branch must be new: raise `BranchTaken` if a branch that was not created for this task
        has the name, or one that collides with it (`forges.branches.collides`).
        """

    async def branch_head(self, repository: Repository, name: str) -> str | None:
        """The commit a branch points to, or None when there is no such branch."""

    async def settle(self, repository: Repository, name: str) -> None:
        """Return once the branch, as it is now, and its commits survive a power cut: before a verdict is stored."""

    async def has_commits(self, repository: Repository, name: str) -> bool:
        """Whether the branch holds commits that the default branch does not."""

    def held(self, repository: Repository, name: str, commit: str) -> AbstractAsyncContextManager[bool]:
        """Keep the branch from moving while the block runs, if it is at this commit; the value is False if not."""

    async def damage(self, repository: Repository) -> str | None:
        """What of the repository's files is empty, torn or missing, as the end of a sentence; None if nothing is."""

    def mirror(self, repository: Repository) -> Path | None:
        """A bare repository on this machine with the same objects, from which a clone may take them; or None."""

    def checkout(self, repository: Repository) -> Path | None:
        """A prepared checkout of the default branch for workspaces to begin with, see `providers.checkouts`; or None.
        Its objects are those of the mirror."""

    async def prepare_checkout(self, repository: Repository) -> None:
        """Have such a checkout of what the default branch is now, if it is worth it; remove older ones not in use."""

    def remove_unfinished(self) -> None:
        """Remove what a killed process left of repositories and checkouts that it was making on this machine."""
