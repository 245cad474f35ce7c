"""One sandbox's folder on this machine: its name, its lock, its uid, its end."""

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

#: Uids that no system hands out to people or services.
UIDS = range(70_000, 80_000)

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def path_of(root: Path, ref: str) -> Path:
    """Where a sandbox's files are. A name that could lead elsewhere raises `ProviderError`."""
    if not _ID.fullmatch(ref):
        raise ProviderError(f"{ref!r} is not a sandbox's id: at most 63 lower-case letters, digits and dashes.")
    return root / ref


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """Hold the folder's lock: while it is being made, and while it is being removed.

    Yields the descriptor; whoever inherits it goes on holding the lock. Raises `SandboxGone`.
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
    """Whether somebody is making or removing it right now."""
    fd = _open(folder)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def sandboxes_below(root: Path) -> list[Path]:
    """Every folder that has the name of a sandbox; other files and folders are not ours."""
    try:
        entries = sorted(root.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [place for place in entries if _ID.fullmatch(place.name) and not place.is_symlink() and place.is_dir()]


def claim_uid(folder: Path) -> int:
    """Give the sandbox's files to a uid that no other sandbox here has; removing the folder frees it."""
    with locked(folder.parent):
        used = {files.stat().st_uid for files in folder.parent.glob(f"*/{disk.FILES}")}
        free = [uid for uid in UIDS if uid not in used]
        if not free:
            raise ProviderError(f"All {len(UIDS)} uids for sandboxes are in use; destroy some sandboxes.")
        # By chance, so that two installations on one machine seldom meet; nothing depends on it.
        uid = random.choice(free)  # noqa: S311
        os.chown(folder / disk.FILES, uid, uid)
    return uid


def size_of(folder: Path) -> int | None:
    """How much of this machine's disk the folder takes, or None if that cannot be measured."""
    done = subprocess.run([disk.DU, "-s", "--block-size=1", "--", str(folder)], capture_output=True, check=False)
    measured = done.stdout.split(maxsplit=1)
    return int(measured[0]) if measured and measured[0].isdigit() else None


def remove(folder: Path) -> None:
    """Remove the folder, however deep or closed what the agent left in it is."""
    if (folder / disk.IMAGE).exists():
        # All that the agent left is in the image.
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
