"""Interface of a forge: where repositories live. Agents reach a repository only through the gateway."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Repository:
    """One project's repository, as a forge needs it."""

    project_id: UUID
    owner: str | None
    name: str | None
    default_branch: str
    #: Path or URL from which a new repository is imported; None for an empty repository.
    seed: str | None = None


class Forge(Protocol):
    """Creates repositories and branches, and reports and holds their heads.

    It hands out no path: `forges.mirrors` serves the repository's objects on this machine. Any method may raise
    `ForgeError`, and any method may be repeated, for example after a crash of its caller.
    """

    #: The name in `forges.registry` and in a project's `forge` field.
    name: str

    async def ensure_repository(self, repository: Repository) -> None:
        """Create the repository with a first commit on its default branch, unless it exists."""

    async def create_branch(self, repository: Repository, name: str, *, task_id: UUID | None = None) -> str:
        """Create a branch at the head of the default branch and return its head.

        Without `task_id`, return the head of an existing branch. With `task_id`, the branch must be new: raise
        `BranchTaken` if a branch that was not created for this task has the name or a name that collides with it
        (`forges.branches.collides`).
        """

    async def branch_head(self, repository: Repository, name: str) -> str | None:
        """Return the commit that a branch points to, or None if the branch does not exist."""

    async def has_commits(self, repository: Repository, name: str) -> bool:
        """Return whether the branch has commits that the default branch does not have."""

    async def settle(self, repository: Repository, name: str) -> None:
        """Return once the branch, as it is now, and its commits survive a power cut.

        The verifier calls this before it stores a verdict on the branch.
        """

    def held(self, repository: Repository, name: str, commit: str) -> AbstractAsyncContextManager[bool]:
        """Keep the branch from moving while the block runs, if it is at this commit; the value is False otherwise."""
