"""Blobs: large values that wait to be put, each in a file named by its hash."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

MAX_BLOB_BYTES = 32 * 1024 * 1024


class Blobs:
    """A folder of large values. One that the disk refuses is held in memory until there is room: see `room`."""

    def __init__(self, folder: Path) -> None:
        """Use a folder, which need not be there; what an earlier worker left in it still waits."""
        self._folder = folder
        self._held: dict[str, bytes] = {}
        self._sizes: dict[str, int] = {}
        for path in list(folder.iterdir()) if folder.is_dir() else []:
            if path.suffix:
                # Half written by a worker that was killed.
                _remove(path)
            else:
                self._sizes[path.name] = path.stat().st_size

    @property
    def size(self) -> int:
        """How many bytes the files have."""
        return sum(self._sizes.values())

    def keep(self, content: bytes) -> str | None:
        """Keep a large value until it is put, and return its hash; None when it is too large for that."""
        if len(content) > MAX_BLOB_BYTES:
            return None
        digest = hashlib.sha256(content).hexdigest()
        if not self._write(digest, content):
            self._held[digest] = content
        return digest

    def find(self, digest: str) -> Path | bytes | None:
        """A value that is not put yet."""
        path = self._folder / digest
        return self._held.get(digest) or (path if path.is_file() else None)

    def forget(self, digest: str) -> None:
        """Drop a value that was put."""
        self._held.pop(digest, None)
        self._sizes.pop(digest, None)
        (self._folder / digest).unlink(missing_ok=True)

    def settle(self) -> bool:
        """Write what is held in memory; whether all of it is on disk now."""
        for digest, content in list(self._held.items()):
            if not self._write(digest, content):
                return False
            del self._held[digest]
        return True

    def _write(self, digest: str, content: bytes) -> bool:
        partial = self._folder / f"{digest}.{os.getpid()}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            partial.write_bytes(content)
            partial.replace(self._folder / digest)
        except OSError:
            _remove(partial)
            return False
        self._sizes[digest] = len(content)
        return True


def _remove(path: Path) -> None:
    """Leave nothing half written where there is no room for it."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return
