"""Garbage collection of a bare repository: packs its objects and removes those that have long been unreferenced.

Replaced history, for example of a `wip/` branch, stays in the reflog for a grace period longer than a sandbox's
lifetime, so a sandbox that borrows objects (alternates) or uses a prepared checkout never loses any.
"""

import re
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from omoi_os.forges.bare import git
from omoi_os.forges.bare.folder_lock import locked
from omoi_os.forges.bare.refs import PLATFORM_REFS

#: Makes git log the previous values of every ref. Needed wherever git moves refs.
KEEP_REPLACED = {"core.logAllRefUpdates": "always"}

#: Younger objects always stay: they may belong to a push that has not moved its ref yet.
_YOUNG = "2.hours.ago"
#: A collection is due above any of these.
MAX_LOOSE_OBJECTS = 2_000
MAX_PACKS = 20
MIN_GROWTH_BYTES = 32 << 20
_GC_SECONDS = 1800.0

#: Refs that keep the commits of prepared checkouts, which use the objects of the repository.
_CHECKOUTS = f"{PLATFORM_REFS}/checkouts"
#: File written after each collection: its age is how long replaced history has been logged, its content the size then.
_MARK = "omoi-gc"

_CHECKOUT_NAME = re.compile(r"([0-9a-f]{40})-[0-9a-f]+")

_CONFIG = {**git.SAFE_CONFIG, "gc.auto": "0", "gc.autoDetach": "false", "gc.writeCommitGraph": "false"}


@dataclass(frozen=True, slots=True)
class Objects:
    """Size of a repository."""

    loose: int
    packs: int
    size: int


async def measure(git_dir: Path) -> Objects:
    """Count the objects of a repository and their bytes on disk."""
    lines = (await git.run("count-objects", "-v", git_dir=git_dir)).splitlines()
    found = {name: int(value) for name, _, value in (line.partition(": ") for line in lines) if value.isdigit()}
    size = sum(found.get(name, 0) for name in ("size", "size-pack", "size-garbage"))
    return Objects(loose=found.get("count", 0), packs=found.get("packs", 0), size=size * 1024)


async def collect(git_dir: Path, *, checkouts: Path, grace: timedelta) -> Objects | None:
    """Collect garbage if it is due; return the remaining size, or None if nothing was done.

    `grace` is how long replaced history is kept. Nothing is removed before it has been logged for that long. Raises
    `ForgeError`.
    """
    found = await measure(git_dir)
    mark = git_dir / _MARK
    with locked(git_dir) as held:
        if not held or not _is_due(mark, found, grace):
            return None
        await _keep_checkouts(git_dir, checkouts)
        expiry = f"{int(grace.total_seconds())}.seconds.ago" if grace else "now"
        config = {**_CONFIG, "gc.reflogExpire": expiry, "gc.reflogExpireUnreachable": expiry}
        variables = git.environment(config)
        young = _YOUNG if grace else "now"
        arguments = ("gc", "--quiet", f"--prune={young}")
        await git.run(*arguments, git_dir=git_dir, variables=variables, timeout=_GC_SECONDS, nice=True)
        left = await measure(git_dir)
        _write_mark(mark, left.size)
        return left


def _is_due(mark: Path, found: Objects, grace: timedelta) -> bool:
    try:
        before = int(mark.read_text() or 0)
        since = mark.stat().st_mtime
    except (OSError, ValueError):
        # Replaced history is logged from now on. Earlier history is not and may still be in use.
        _write_mark(mark, found.size)
        return not grace
    if time.time() - since < grace.total_seconds():
        return False
    return found.loose > MAX_LOOSE_OBJECTS or found.packs > MAX_PACKS or found.size > before + MIN_GROWTH_BYTES


def _write_mark(mark: Path, size: int) -> None:
    aside = mark.with_name(f"{_MARK}.new")
    aside.write_text(str(size))
    aside.replace(mark)


async def _keep_checkouts(git_dir: Path, checkouts: Path) -> None:
    """Create a ref for the commit of each prepared checkout, and delete the refs of removed ones."""
    used = {f"{_CHECKOUTS}/{name}": name for name in _commits(checkouts)}
    listed = await git.run("for-each-ref", "--format=%(refname)", "--", _CHECKOUTS, git_dir=git_dir)
    commands = [f"update {ref} {commit}\n" for ref, commit in sorted(used.items())]
    commands += [f"delete {ref}\n" for ref in listed.splitlines() if ref not in used]
    if commands:
        await git.run("update-ref", "--stdin", git_dir=git_dir, stdin="".join(commands).encode())


def _commits(checkouts: Path) -> set[str]:
    """Return the commits of the prepared checkouts, which are in the names of their folders."""
    if not checkouts.is_dir():
        return set()
    return {match[1] for path in checkouts.iterdir() if (match := _CHECKOUT_NAME.fullmatch(path.name))}
