"""Measure the free space of the data folder, and recognise and describe a full disk."""

import asyncio
import errno
import os
import time
from dataclasses import dataclass
from pathlib import Path

from omoi_os.errors import DiskFull

_GIB = 1024**3
#: The floor is at most this share of the disk: on a small disk a fixed size would stop everything.
_MAX_SHARE = 0.05
#: Below this share of the floor the disk counts as full: writers wait instead of failing.
_FULL_SHARE = 0.1

_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})
#: PostgreSQL's `disk_full`.
_FULL_SQLSTATE = "53100"
_FULL_TEXT = "No space left on device"


@dataclass(frozen=True, slots=True)
class Space:
    """The free space of a disk, in bytes, and how much must stay free."""

    path: Path
    free: int
    total: int
    floor: int

    @property
    def is_low(self) -> bool:
        """Return whether the disk is too full for new work to start."""
        return self.free < self.floor

    @property
    def is_full(self) -> bool:
        """Return whether writers must wait for space."""
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
    """Measure the disk of a folder. A folder that does not exist yet counts as having space."""
    try:
        found = os.statvfs(path)
    except OSError:
        return Space(path, free=1, total=1, floor=0)
    total = found.f_blocks * found.f_frsize
    floor = int(min(min_free_gb * _GIB, total * _MAX_SHARE))
    return Space(path, free=found.f_bavail * found.f_frsize, total=total, floor=floor)


async def wait_for_space(path: Path, *, min_free_gb: float, seconds: float) -> Space:
    """Wait until the disk is not full, at most this long; return the last measurement."""
    until = time.monotonic() + seconds
    while (found := space(path, min_free_gb=min_free_gb)).is_full and time.monotonic() < until:  # noqa: ASYNC110
        # Poll, because nothing announces that space was freed.
        await asyncio.sleep(1.0)
    return found


async def require_space(path: Path, *, min_free_gb: float, seconds: float) -> None:
    """Wait until the disk is not full, at most this long. Raise `DiskFull` if it still is."""
    if (found := await wait_for_space(path, min_free_gb=min_free_gb, seconds=seconds)).is_full:
        raise DiskFull(found.describe())


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether an error, or one of its causes, means that a disk is full."""
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
