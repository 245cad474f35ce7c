"""A prepared checkout: a folder with the files that a workspace starts with, and links to the sandboxes that use it.

It is changed or removed only while no sandbox uses it.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_TREE, _USERS = "tree", "users"


def tree_of(checkout: Path) -> Path:
    """Return the folder with the files."""
    return checkout / _TREE


def make_folder(checkout: Path) -> None:
    """Create a checkout without files."""
    checkout.mkdir(mode=0o700)
    for name in (_TREE, _USERS):
        (checkout / name).mkdir()


def use(checkout: Path, sandbox: Path) -> bool:
    """Record that a sandbox uses it while the sandbox's folder exists; return False if it is being changed or gone."""
    with _locked(checkout, fcntl.LOCK_SH) as held:
        if held:
            (checkout / _USERS / sandbox.name).symlink_to(sandbox.absolute())
        return held


def leave(checkout: Path, sandbox: Path) -> None:
    """Record that the sandbox no longer uses it."""
    (checkout / _USERS / sandbox.name).unlink(missing_ok=True)


@contextmanager
def unused(checkout: Path) -> Iterator[bool]:
    """Yield whether no sandbox uses it; while the block runs, none can start to."""
    with _locked(checkout, fcntl.LOCK_EX) as held:
        yield held and not any(user.exists() for user in (checkout / _USERS).iterdir())


@contextmanager
def _locked(checkout: Path, kind: int) -> Iterator[bool]:
    """Hold the folder's lock while the block runs; the value is False if it is locked or gone."""
    try:
        fd = os.open(checkout, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        held = False
        with suppress(OSError):
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
            # The folder may have been renamed before it was locked.
            held = checkout.stat().st_ino == os.fstat(fd).st_ino
        yield held
    finally:
        os.close(fd)
