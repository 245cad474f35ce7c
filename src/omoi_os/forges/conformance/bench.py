"""Bench for a forge under test: creates repositories, and pushes to them the way the gateway does."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

from omoi_os.conformance import Failed
from omoi_os.errors import BranchTaken, ForgeError
from omoi_os.forges.bare import git, refs
from omoi_os.forges.base import Forge, Repository
from omoi_os.forges.mirrors import Mirrors

MAIN = "main"


@dataclass(slots=True)
class Bench:
    """One forge under test, with its mirrors. Every call of the factory stands for a restart of our process."""

    factory: Callable[[], tuple[Forge, Mirrors]]
    #: Checks, or whole guarantees, that this forge is known not to keep, each with the reason.
    gaps: Mapping[str, str] = field(default_factory=dict)
    #: The longest time in seconds that one check may take.
    patience: float = 120.0
    forge: Forge = field(init=False)
    mirrors: Mirrors = field(init=False)

    def __post_init__(self) -> None:
        """Create the first forge object."""
        self.restart()

    def restart(self) -> None:
        """Continue with new objects, which remember nothing."""
        self.forge, self.mirrors = self.factory()

    def address(self, *, default_branch: str = MAIN) -> Repository:
        """Return a repository that does not exist yet."""
        return Repository(uuid4(), "conformance", f"check-{secrets.token_hex(6)}", default_branch)

    async def repository(self, *, default_branch: str = MAIN) -> Repository:
        """Create a repository."""
        repository = self.address(default_branch=default_branch)
        await self.forge.ensure_repository(repository)
        return repository

    async def head(self, repository: Repository, name: str = MAIN) -> str:
        """Return the head of a branch that must exist."""
        head = await self.forge.branch_head(repository, name)
        if head is None:
            raise Failed(f"branch {name!r} has no head")
        return head

    async def commit(self, repository: Repository, *, parent: str) -> str:
        """Write a commit with one new file into the mirror, as git does before it moves a ref."""
        mirror = await self.mirrors.open(repository)
        content = f"{secrets.token_hex(8)}\n".encode()
        blob = await git.run("hash-object", "-w", "--stdin", git_dir=mirror, stdin=content)
        tree = await git.run("mktree", git_dir=mirror, stdin=f"100644 blob {blob}\tnew.txt\n".encode())
        return await git.run("commit-tree", "-p", parent, "-m", "Add new.txt", tree, git_dir=mirror)

    async def move(self, repository: Repository, name: str, commit: str) -> Path:
        """Move a branch in the mirror, as git does when it receives a push, and return the mirror."""
        mirror = await self.mirrors.open(repository)
        ref = refs.branch_ref(name)
        await self.mirrors.prepare_push(repository, {ref: commit})
        await git.run("update-ref", ref, commit, git_dir=mirror)
        return mirror

    async def push(self, repository: Repository, name: str, *, commit: str | None = None) -> str:
        """Push a commit, by default a new one on top of the branch, and return it once it is acknowledged."""
        if commit is None:
            commit = await self.commit(repository, parent=await self.head(repository, name))
        await self.move(repository, name, commit)
        await self.mirrors.publish(repository, {refs.branch_ref(name): commit})
        return commit

    async def refused(self, call: Awaitable[object], what: str) -> ForgeError:
        """Return the `ForgeError` that a call raises. Raise `Failed` if it succeeds."""
        try:
            answer = await call
        except ForgeError as error:
            return error
        raise Failed(f"{what} succeeded with {answer!r}")

    async def taken(self, repository: Repository, name: str, *, task_id: UUID | None = None) -> BranchTaken:
        """Return the `BranchTaken` that a task gets for a name. Raise `Failed` for any other answer."""
        creating = self.forge.create_branch(repository, name, task_id=task_id or uuid4())
        error = await self.refused(creating, f"creating branch {name!r} for another task")
        if not isinstance(error, BranchTaken):
            raise Failed(f"a taken name raised {type(error).__name__} instead of BranchTaken: {error}")
        return error
