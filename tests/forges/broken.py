"""Forges with one flaw each: the positive control of the conformance suite."""

import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

from omoi_os.errors import BranchTaken, ForgeError
from omoi_os.forges.bare import git
from omoi_os.forges.base import Repository
from omoi_os.forges.local.forge import LocalForge
from omoi_os.forges.mirrors import Mirrors


class WithoutDefaultBranch(LocalForge):
    async def ensure_repository(self, repository: Repository) -> None:
        await super().ensure_repository(repository)
        await git.run("update-ref", "-d", f"refs/heads/{repository.default_branch}", git_dir=self.path(repository))


class AlwaysMain(LocalForge):
    async def ensure_repository(self, repository: Repository) -> None:
        await super().ensure_repository(replace(repository, default_branch="main"))
        await git.run(
            "update-ref", f"refs/heads/{repository.default_branch}", "refs/heads/main", git_dir=self.path(repository)
        )


class ReplacesRepositories(LocalForge):
    async def ensure_repository(self, repository: Repository) -> None:
        shutil.rmtree(self.path(repository), ignore_errors=True)
        await super().ensure_repository(repository)


class CreatesOnlyOnce(LocalForge):
    created: set[UUID] = set()

    async def ensure_repository(self, repository: Repository) -> None:
        if repository.project_id in self.created:
            raise ForgeError("the repository exists")
        self.created.add(repository.project_id)
        await super().ensure_repository(repository)


class OneRepositoryForAll(LocalForge):
    def path(self, repository: Repository) -> Path:
        return self.root / "all.git"


class HidesErrors(LocalForge):
    async def branch_head(self, repository: Repository, name: str) -> str | None:
        try:
            return await super().branch_head(repository, name)
        except ForgeError:
            return None


class AdoptsBranches(LocalForge):
    async def create_branch(self, repository: Repository, name: str, *, task_id: UUID | None = None) -> str:
        return await super().create_branch(repository, name)


class ForgetsTasks(LocalForge):
    async def create_branch(self, repository: Repository, name: str, *, task_id: UUID | None = None) -> str:
        return await super().create_branch(repository, name, task_id=task_id and uuid4())


class StartsAtTheFirstCommit(LocalForge):
    async def create_branch(self, repository: Repository, name: str, *, task_id: UUID | None = None) -> str:
        path = self.path(repository)
        first = await git.run("rev-list", "--max-parents=0", repository.default_branch, git_dir=path)
        await git.run("update-ref", f"refs/heads/{name}", first, git_dir=path)
        return first


class VagueErrors(LocalForge):
    async def create_branch(self, repository: Repository, name: str, *, task_id: UUID | None = None) -> str:
        try:
            return await super().create_branch(repository, name, task_id=task_id)
        except BranchTaken as error:
            raise BranchTaken(name, frozenset({name})) from error
        except ForgeError as error:
            raise ForgeError("it did not work") from error


class CleansNames(LocalForge):
    async def create_branch(self, repository: Repository, name: str, *, task_id: UUID | None = None) -> str:
        clean = "".join(character for character in name if character.isalnum()) or "branch"
        return await super().create_branch(repository, f"clean/{clean}", task_id=task_id)


class TakesOptions(LocalForge):
    async def create_branch(self, repository: Repository, name: str, *, task_id: UUID | None = None) -> str:
        if name.startswith("-"):
            await git.run("update-ref", "-d", "refs/heads/main", git_dir=self.path(repository))
            raise ForgeError("not a branch name")
        return await super().create_branch(repository, name, task_id=task_id)


class MatchesPatterns(LocalForge):
    async def branch_head(self, repository: Repository, name: str) -> str | None:
        listed = await git.run(
            "for-each-ref", "--format=%(objectname)", f"refs/heads/{name}", git_dir=self.path(repository)
        )
        return listed.partition("\n")[0] or None


class FallsBackToMain(LocalForge):
    async def branch_head(self, repository: Repository, name: str) -> str | None:
        return await super().branch_head(repository, name) or await super().branch_head(repository, "main")


class RemembersHeads(LocalForge):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._heads: dict[str, str | None] = {}

    async def branch_head(self, repository: Repository, name: str) -> str | None:
        if name not in self._heads:
            self._heads[name] = await super().branch_head(repository, name)
        return self._heads[name]


class AlwaysHasCommits(LocalForge):
    async def has_commits(self, repository: Repository, name: str) -> bool:
        return True


class NeverHasCommits(LocalForge):
    async def has_commits(self, repository: Repository, name: str) -> bool:
        return False


class NeverHolds(LocalForge):
    def held(self, repository: Repository, name: str, commit: str) -> AbstractAsyncContextManager[bool]:
        return self._held()

    @asynccontextmanager
    async def _held(self) -> AsyncIterator[bool]:
        yield True


class NeverReleases(LocalForge):
    """Leaves a lock on every branch for good."""

    def held(self, repository: Repository, name: str, commit: str) -> AbstractAsyncContextManager[bool]:
        return self._held(repository)

    @asynccontextmanager
    async def _held(self, repository: Repository) -> AsyncIterator[bool]:
        for ref in [path for path in (self.path(repository) / "refs" / "heads").rglob("*") if path.is_file()]:
            ref.with_name(f"{ref.name}.lock").touch()
        yield True


class StaleMirrors(Mirrors):
    """Serves a copy that is never brought up to date."""

    async def open(self, repository: Repository) -> Path:
        served = await super().open(repository)
        copy = served.with_name(f"copy-{served.name}")
        if not copy.exists():
            shutil.copytree(served, copy)
        return copy


class EndlessMirrors(Mirrors):
    """Has a mirror of every repository there could be."""

    def find(self, repository: Repository) -> Path | None:
        return self._root / "any.git"


class ShownRefs(Mirrors):
    hidden_refs = "refs/elsewhere"


class KeptLocks(Mirrors):
    async def prepare_push(self, repository: Repository, commits: Mapping[str, str]) -> None:
        return None


class NoDamage(Mirrors):
    async def damage(self, repository: Repository) -> str | None:
        return None


class AlwaysDamage(Mirrors):
    async def damage(self, repository: Repository) -> str | None:
        return "it is old"
