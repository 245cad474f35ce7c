"""Removes git lock files that a killed process left. No process holds them, and git never removes them."""

import logging
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

log = logging.getLogger(__name__)

#: Younger locks are left alone: their process may not be visible from here.
MIN_AGE_SECONDS = 10.0

_NAMES = ("HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock", "index.lock")


def clear(git_dir: Path, refs: Iterable[str] = ()) -> list[str]:
    """Remove stale locks of the repository itself and of these refs; return their names. It blocks."""
    return _remove(git_dir, [git_dir / name for name in (*_NAMES, *(f"{ref}.lock" for ref in refs))])


def clear_all(git_dir: Path) -> list[str]:
    """Remove every stale lock of a repository; return their names. It blocks."""
    return _remove(git_dir, [*(git_dir / name for name in _NAMES), *(git_dir / "refs").rglob("*.lock")])


def _remove(git_dir: Path, paths: list[Path]) -> list[str]:
    old = [path for path in paths if _is_old(path)]
    # A process that holds a lock works on this repository.
    if not old or any(_users(git_dir)):
        return []
    removed = []
    for path in old:
        if _is_old(path):
            with suppress(OSError):
                path.unlink()
                removed.append(str(path.relative_to(git_dir)))
    if removed:
        log.warning("%s: removed %s, which a killed process left", git_dir.name, ", ".join(removed))
    return removed


def _is_old(path: Path) -> bool:
    try:
        # A lock from the future was created before the clock was set back.
        return abs(time.time() - path.lstat().st_mtime) >= MIN_AGE_SECONDS
    except OSError:
        return False


def _users(git_dir: Path) -> Iterator[int]:
    """Yield the git processes that work on this repository, by their arguments, environment or folder."""
    wanted = os.fsencode(git_dir.name)
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            if not (entry / "comm").read_text().startswith("git"):
                continue
            context = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            context += os.fsencode((entry / "cwd").readlink())
        except OSError:
            continue
        if wanted in context:
            yield int(entry.name)
