"""A sandbox's folder on this machine: its name, lock, uid and removal."""

import fcntl
import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omoi_os.errors import ProviderError, SandboxGone
from omoi_os.providers.local.supervisor import disk

#: Uids that no system assigns to people or services.
UIDS = range(70_000, 80_000)

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def path_of(root: Path, ref: str) -> Path:
    """Return the folder of a sandbox. Raises `ProviderError` for a name that could lead elsewhere."""
    if not _ID.fullmatch(ref):
        raise ProviderError(
            f"{ref!r} is not a sandbox id: it must be at most 63 lower-case letters, digits and dashes."
        )
    return root / ref


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """Hold the folder's lock while it is being created or removed.

    Yields the descriptor; a process that inherits it keeps the lock. Raises `SandboxGone`.
    """
    fd = _open(folder)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        try:
            there = folder.stat()
        except FileNotFoundError:
            raise SandboxGone(f"Sandbox {folder.name} no longer exists.") from None
        if there.st_ino != os.fstat(fd).st_ino:
            raise SandboxGone(f"Sandbox {folder.name} no longer exists.")
        yield fd
    finally:
        os.close(fd)


def is_locked(folder: Path) -> bool:
    """Return whether it is being created or removed right now."""
    fd = _open(folder)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def sandboxes_below(root: Path) -> list[Path]:
    """Return every folder that has the name of a sandbox; other files and folders are not ours."""
    try:
        entries = sorted(root.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [place for place in entries if _ID.fullmatch(place.name) and not place.is_symlink() and place.is_dir()]


def claim_uid(folder: Path) -> int:
    """Give the sandbox's files to a uid that no other sandbox here has. Removing the folder frees it."""
    with locked(folder.parent):
        used = {files.stat().st_uid for files in folder.parent.glob(f"*/{disk.FILES}")}
        free = [uid for uid in UIDS if uid not in used]
        if not free:
            raise ProviderError(f"All {len(UIDS)} uids for sandboxes are in use. Destroy some sandboxes.")
        # Random, so that two installations on one machine rarely use the same one; nothing depends on it.
        uid = random.choice(free)  # noqa: S311
        os.chown(folder / disk.FILES, uid, uid)
    return uid


def size_of(folder: Path) -> int | None:
    """Return the size of the folder on this machine's disk, or None if it cannot be measured."""
    done = subprocess.run([disk.DU, "-s", "--block-size=1", "--", str(folder)], capture_output=True, check=False)
    measured = done.stdout.split(maxsplit=1)
    return int(measured[0]) if measured and measured[0].isdigit() else None


def remove(folder: Path) -> None:
    """Remove the folder, whatever depth and modes the files in it have."""
    if (folder / disk.IMAGE).exists():
        # Everything that the agent left is in the image.
        shutil.rmtree(folder)
        return
    for command in (["rm", "-rf", "--"], ["chmod", "-R", "u+rwX", "--"], ["rm", "-rf", "--"]):
        done = subprocess.run([*command, str(folder)], capture_output=True, check=False)
        if command[0] == "rm" and done.returncode == 0:
            return
    raise ProviderError(f"{folder} could not be removed: {done.stderr.decode(errors='replace').strip()[:500]}")


def _open(folder: Path) -> int:
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise SandboxGone(f"Sandbox {folder.name} no longer exists.") from None
