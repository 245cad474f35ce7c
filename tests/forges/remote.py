"""A forge whose repositories are elsewhere: its mirrors fetch from it, and pushes reach it before they are answered.

The module is also its factory, as `forges.registry` expects one.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from omoi_os.config import Settings
from omoi_os.errors import NotFound
from omoi_os.forges.bare import creation, git, layout, refs
from omoi_os.forges.base import Repository
from omoi_os.forges.local.forge import LocalForge
from omoi_os.forges.mirrors import Mirrors


class RemoteForge(LocalForge):
    """Repositories in a folder that only this forge and its mirrors know."""

    name = "remote"


class RemoteMirrors(Mirrors):
    """Bare repositories in another folder, brought up to date whenever they are opened."""

    def __init__(self, root: Path, forge: RemoteForge) -> None:
        super().__init__(root)
        self._forge = forge

    async def open(self, repository: Repository) -> Path:
        remote = self._forge.path(repository)
        if not await asyncio.to_thread(remote.is_dir):
            raise NotFound("the remote has no such repository")
        if self.find(repository) is None:
            async with creation.creating(layout.path_of(self._root, repository)) as created:
                await git.run("init", "--quiet", "--bare", "--template=", "--", str(created))
                await git.run("symbolic-ref", "HEAD", refs.branch_ref(repository.default_branch), git_dir=created)
        mirror = await super().open(repository)
        await git.run("fetch", "--quiet", "--", str(remote), "+refs/heads/*:refs/heads/*", git_dir=mirror)
        return mirror

    async def publish(self, repository: Repository, commits: Mapping[str, str]) -> None:
        mirror = layout.path_of(self._root, repository)
        moved = (await refs.commits_of(mirror, *commits)).items() & commits.items()
        if moved:
            remote = str(self._forge.path(repository))
            await git.run(
                "push", "--quiet", "--", remote, *(f"{commit}:{ref}" for ref, commit in moved), git_dir=mirror
            )


def make_forge(settings: Settings) -> RemoteForge:
    return RemoteForge(settings.data_dir / "remote")


def make_mirrors(settings: Settings) -> RemoteMirrors:
    return RemoteMirrors(settings.repositories_dir, make_forge(settings))
