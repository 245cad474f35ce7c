"""Creates a bare repository aside and renames it, so that a kill leaves nothing that looks like a repository."""

import asyncio
import fcntl
import os
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from omoi_os.errors import ForgeError
from omoi_os.forges.bare import durability
from omoi_os.system import durable
from omoi_os.system.children import kill_marked

#: Environment variable of the processes that fill a folder; its value is the folder.
_MARK = "OMOI_UNFINISHED"

_REPOSITORY = "repository.git"


@asynccontextmanager
async def creating(target: Path) -> AsyncIterator[Path]:
    """Yield the path at which the block creates a bare repository; then move it to `target`.

    The repository is durable before it gets its name. One that another process put there meanwhile stays. The folder
    around the yielded path is private to the block and is removed. Raises `ForgeError`.
    """
    folder, lock = await asyncio.to_thread(_make_folder, target)
    try:
        yield folder / _REPOSITORY
        await asyncio.to_thread(_put_in_place, folder / _REPOSITORY, target)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        os.close(lock)


def mark(created: Path) -> dict[str, str]:
    """Return variables for a program that fills a new repository and may outlive this process.

    Its children inherit them, so `remove_unfinished` finds all of them.
    """
    return {_MARK: str(created.parent)}


def remove_unfinished(root: Path) -> None:
    """Remove what killed processes left of repositories that they were creating. It blocks."""
    for folder in root.glob(".*.*"):
        lock = _try_lock(folder)
        if lock is not None:
            kill_marked(_MARK, str(folder))
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _make_folder(target: Path) -> tuple[Path, int]:
    """Create a folder and lock it. The lock is held while the folder is in use: an unlocked one is left over."""
    durable.make_folder(target.parent, mode=0o700)
    while True:
        folder = target.parent / f".{target.stem}.{secrets.token_hex(4)}"
        folder.mkdir(mode=0o700)
        lock = _try_lock(folder)
        if lock is not None:
            return folder, lock


def _try_lock(folder: Path) -> int | None:
    """Lock a folder without waiting and return the descriptor that holds the lock; None if it is locked or gone."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if folder.stat().st_ino == os.fstat(lock).st_ino:
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


def _put_in_place(created: Path, target: Path) -> None:
    try:
        durability.put_in_place(created, target)
    except OSError as error:
        if not target.is_dir():
            raise ForgeError(f"the repository {target} could not be put in place: {error.strerror}") from error
