"""A prepared checkout: a folder with the files a workspace begins with, and the names of the sandboxes that use it.

Who makes one never changes it once it has a user, and removes it only while it has none.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_TREE, _USERS = "tree", "users"


def tree_of(checkout: Path) -> Path:
    """Where the files are."""
    return checkout / _TREE


def make_folder(checkout: Path) -> None:
    """Make one without files."""
    checkout.mkdir(mode=0o700)
    for name in (_TREE, _USERS):
        (checkout / name).mkdir()


def use(checkout: Path, sandbox: Path) -> bool:
    """Note that the sandbox in this folder uses it, for as long as that folder exists; False if it is not to be had."""
    with _locked(checkout, fcntl.LOCK_SH) as held:
        if held:
            (checkout / _USERS / sandbox.name).symlink_to(sandbox.absolute())
        return held


def leave(checkout: Path, sandbox: Path) -> None:
    """The sandbox is gone."""
    (checkout / _USERS / sandbox.name).unlink(missing_ok=True)


@contextmanager
def unused(checkout: Path) -> Iterator[bool]:
    """Whether no sandbox uses it; while that is held, none can begin to."""
    with _locked(checkout, fcntl.LOCK_EX) as held:
        yield held and not any(user.exists() for user in (checkout / _USERS).iterdir())


@contextmanager
def _locked(checkout: Path, kind: int) -> Iterator[bool]:
    """Hold the folder's lock; False if somebody else does, or if it is gone."""
    try:
        fd = os.open(checkout, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        held = False
        with suppress(OSError):
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
            # It may have been moved away before the lock was ours.
            held = checkout.stat().st_ino == os.fstat(fd).st_ino
        yield held
    finally:
        os.close(fd)
