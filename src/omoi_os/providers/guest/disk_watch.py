"""Watching how much disk a sandbox uses where no file system limits it."""

# No pathlib here: its import would be a good part of the container's start.
# ruff: noqa: PTH116, PTH118, PTH208

import os
import time
from collections.abc import Iterator

from omoi_os.providers.guest.command import Watch

#: A sandbox may have one file for so many bytes of its disk limit.
BYTES_PER_FILE = 16 * 1024

#: The least time between two measurements, and how many times longer than one of them the pause after it is.
INTERVAL_SECONDS = 0.5
_PAUSE_FACTOR = 10

_SLICE = 500
_MAX_LINKS = 100_000


class DiskWatch(Watch):
    """The disk use of some folders together. It is measured in slices, so that nothing else has to wait."""

    def __init__(self, folders: list[str], *, limit: int) -> None:
        self.limit = limit
        self.used = 0
        #: Files and folders: empty ones would use up the host's inodes.
        self.entries = 0
        #: When the next slice is due.
        self.due = time.monotonic()
        self._folders = folders
        self._began = 0.0
        self._seen = (0, 0)
        self._measurement: Iterator[tuple[int, int]] | None = None

    def look(self, ready: set[int]) -> str:
        """Measure one slice if it is due. Report "disk_full" if more is used than the limit allows."""
        if time.monotonic() >= self.due:
            self._measure_slice()
        full = self.used > self.limit or self.entries > self.limit // BYTES_PER_FILE
        return "disk_full" if full else ""

    def _measure_slice(self) -> None:
        now = time.monotonic()
        if self._measurement is None:
            self._began = now
            self._measurement = _measure(self._folders)
        seen = next(self._measurement, None)
        if seen is not None:
            self._seen = seen
            self.used, self.entries = max(self.used, seen[0]), max(self.entries, seen[1])
            return
        self._measurement = None
        self.used, self.entries = self._seen
        self.due = now + max(INTERVAL_SECONDS, _PAUSE_FACTOR * (now - self._began))


def _measure(folders: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the bytes and entries so far, after every slice and at the end. Files that vanish do not count."""
    links: set[int] = set()
    total = entries = 0
    for count, (about, is_folder) in enumerate(_entries(folders)):
        if count % _SLICE == _SLICE - 1:
            yield total, entries
        if about.st_nlink != 1 and not is_folder:
            if about.st_ino in links:
                continue
            if len(links) < _MAX_LINKS:
                links.add(about.st_ino)
        total += about.st_blocks * 512
        entries += 1
    yield total, entries


def _entries(folders: list[str]) -> Iterator[tuple[os.stat_result, bool]]:
    """Yield everything in the folders, then the unnamed files that processes have open."""
    waiting = list(folders)
    while waiting:
        folder = waiting.pop()
        try:
            for entry in os.scandir(folder):
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_folder:
                    waiting.append(os.path.join(folder, entry.name))
                yield entry.stat(follow_symlinks=False), is_folder
        except OSError:
            continue
    devices = {os.stat(folder).st_dev for folder in folders}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                about = os.stat(f"/proc/{pid}/fd/{fd}")
                if about.st_nlink == 0 and about.st_dev in devices:
                    yield about, False
        except OSError:
            continue
