"""Free space of the data folder: whether new work may start, and how a full disk is recognised and named."""

import asyncio
import errno
import os
import time
from dataclasses import dataclass
from pathlib import Path

_GIB = 1024**3
#: The floor is never more than this part of the disk: on a small one a fixed size would stop everything.
_MAX_SHARE = 0.05
#: Below this part of the floor the disk counts as full: what needs space waits instead of failing.
_FULL_SHARE = 0.1

_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})
#: PostgreSQL's `disk_full`.
_FULL_SQLSTATE = "53100"
_FULL_TEXT = "No space left on device"


@dataclass(frozen=True, slots=True)
class Space:
    """What is free of a disk, in bytes, and what has to stay free."""

    path: Path
    free: int
    total: int
    floor: int

    @property
    def is_low(self) -> bool:
        """Whether no new work may start."""
        return self.free < self.floor

    @property
    def is_full(self) -> bool:
        """Whether what needs space has to wait."""
        return self.free < self.floor * _FULL_SHARE

    def describe(self) -> str:
        """Return one sentence for a person."""
        free = f"{_size(self.free)} of {_size(self.total)} free"
        if self.is_full:
            return f"the disk of {self.path} is full ({free}): free space there; nothing that was acknowledged is lost"
        return (
            f"the disk of {self.path} is almost full ({free}): no task starts until {_size(self.floor)} are free "
            "(OMOI_MIN_FREE_GB)"
        )


def space(path: Path, *, min_free_gb: float) -> Space:
    """Measure the disk of a folder. One that cannot be measured, because it does not exist yet, has space."""
    try:
        found = os.statvfs(path)
    except OSError:
        return Space(path, free=1, total=1, floor=0)
    total = found.f_blocks * found.f_frsize
    floor = int(min(min_free_gb * _GIB, total * _MAX_SHARE))
    return Space(path, free=found.f_bavail * found.f_frsize, total=total, floor=floor)


async def wait_for_space(path: Path, *, min_free_gb: float, seconds: float) -> Space:
    """Wait, not longer than this, until the disk is not full; return what was measured last."""
    until = time.monotonic() + seconds
    while (found := space(path, min_free_gb=min_free_gb)).is_full and time.monotonic() < until:  # noqa: ASYNC110
        # Nothing announces that space was freed.
        await asyncio.sleep(1.0)
    return found


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether an error, or what caused it, says that a disk is full."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        original = getattr(error, "orig", None)
        for each in (error, original):
            if isinstance(each, OSError) and each.errno in _FULL_ERRNOS:
                return True
            if getattr(each, "sqlstate", None) == _FULL_SQLSTATE or _FULL_TEXT in str(each):
                return True
        error = error.__cause__ or error.__context__
    return False


def _size(number: int) -> str:
    return f"{number / _GIB:.1f} GB" if number >= _GIB else f"{number / 1024**2:.0f} MB"
