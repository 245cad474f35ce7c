"""How a full disk is recognised and named."""

import errno
import os
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.exc import OperationalError

from omoi_os.errors import ForgeError
from omoi_os.system import disk
from omoi_os.system.disk import Space

GIB = 1024**3


def caused_by(cause: Exception) -> Exception:
    error = RuntimeError("it failed")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), True),
        (OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)), True),
        (OperationalError("INSERT", {}, psycopg.errors.DiskFull("could not extend file")), True),
        (ForgeError("git index-pack failed: fatal: write error: No space left on device"), True),
        (caused_by(OSError(errno.ENOSPC, "")), True),
        (OSError(errno.EIO, os.strerror(errno.EIO)), False),
        (OperationalError("SELECT", {}, psycopg.OperationalError("connection refused")), False),
        (None, False),
    ],
)
def test_a_full_disk_is_recognised_in_every_error(error: Exception | None, *, full: bool) -> None:
    assert disk.is_disk_full(error) is full


@pytest.mark.parametrize(
    ("free", "low", "full", "said"),
    [
        (GIB, False, False, ""),
        (GIB - 1, True, False, "no task starts until 1.0 GB are free"),
        (GIB // 20, True, True, "is full (51 MB of 100.0 GB free)"),
    ],
)
def test_new_work_waits_below_the_floor(free: int, *, low: bool, full: bool, said: str) -> None:
    found = Space(Path("/data"), free=free, total=100 * GIB, floor=GIB)

    assert (found.is_low, found.is_full) == (low, full)
    assert said in found.describe()


def test_the_floor_is_at_most_a_twentieth_of_the_disk(tmp_path: Path) -> None:
    found = disk.space(tmp_path, min_free_gb=1e6)

    assert found.floor == pytest.approx(found.total / 20, abs=1)
    assert disk.space(tmp_path, min_free_gb=0).floor == 0


def test_a_folder_that_does_not_exist_yet_has_space(tmp_path: Path) -> None:
    assert not disk.space(tmp_path / "missing", min_free_gb=1).is_low
