"""Mirrors: one bare repository per project on this machine, from which git is served and checkouts are prepared.

All forges share them. A repository of the local forge is its own mirror, so it is always up to date.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from omoi_os.errors import NotFound
from omoi_os.forges import mirror_checkouts
from omoi_os.forges.bare import creation, damage, durability, layout, refs, stale_locks
from omoi_os.forges.bare.git import MAX_PUSH_BYTES
from omoi_os.forges.base import Repository


class Mirrors:
    """The mirrors in one folder. Implements `smart_http.backend.GitBackend`, so that git clients can use them."""

    hidden_refs = refs.PLATFORM_REFS
    max_push_bytes = MAX_PUSH_BYTES

    def __init__(self, root: Path) -> None:
        self._root = root

    def find(self, repository: Repository) -> Path | None:
        """Return the mirror as it is now, or None if it was not created yet."""
        path = layout.path_of(self._root, repository)
        return path if path.is_dir() else None

    async def open(self, repository: Repository) -> Path:
        """Return the mirror, up to date with the forge. Raise `NotFound` if it was not created yet."""
        path = await asyncio.to_thread(self.find, repository)
        if path is None:
            raise NotFound("this project's repository has not been created yet; its first task creates it")
        return path

    async def prepare_push(self, repository: Repository, commits: Mapping[str, str]) -> None:
        """Remove locks on the refs of a push that a killed process left."""
        await asyncio.to_thread(stale_locks.clear, layout.path_of(self._root, repository), commits)

    async def publish(self, repository: Repository, commits: Mapping[str, str]) -> None:
        """Make what was pushed to these refs survive a power cut."""
        await asyncio.to_thread(durability.sync_refs, layout.path_of(self._root, repository), commits)

    async def damage(self, repository: Repository) -> str | None:
        """Return what is empty, torn or missing in the mirror, as the end of a sentence; None if it is whole.

        A mirror that was not created yet is whole.
        """
        path = await asyncio.to_thread(self.find, repository)
        return None if path is None else await damage.find(path)

    async def prepare_checkout(self, repository: Repository) -> None:
        """Prepare a checkout of the default branch if it is large enough, and remove older ones not in use."""
        mirror = await self.open(repository)
        found = await refs.heads(mirror, repository.default_branch)
        commit = refs.require_head(found.get(repository.default_branch), repository)
        await mirror_checkouts.prepare(layout.checkouts_of(mirror), mirror=mirror, commit=commit)

    def checkout(self, repository: Repository) -> Path | None:
        """Return the newest prepared checkout for a new sandbox, or None. Its objects are those of the mirror."""
        return mirror_checkouts.newest(layout.checkouts_of(layout.path_of(self._root, repository)))


def remove_unfinished(root: Path) -> None:
    """Remove what killed processes left in a folder of mirrors: half-created ones, locks, checkouts. It blocks."""
    creation.remove_unfinished(root)
    for mirror in layout.repositories_in(root):
        stale_locks.clear_all(mirror)
    for folder in layout.checkouts_in(root):
        mirror_checkouts.remove_unfinished(folder)
