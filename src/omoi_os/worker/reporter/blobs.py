"""Blobs: large values that wait to be uploaded, each in a file named by its hash."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

MAX_BLOB_BYTES = 32 * 1024 * 1024


class Blobs:
    """A folder of large values. A value that a full disk refuses is held in memory; see `SpoolLimit`."""

    def __init__(self, folder: Path) -> None:
        """Use a folder, which need not exist. Values that an earlier worker left still wait."""
        self._folder = folder
        self._held: dict[str, bytes] = {}
        self._sizes: dict[str, int] = {}
        for path in list(folder.iterdir()) if folder.is_dir() else []:
            if path.suffix:
                # A killed worker left it incomplete.
                _remove(path)
            else:
                self._sizes[path.name] = path.stat().st_size

    @property
    def size(self) -> int:
        """The size of all files in bytes."""
        return sum(self._sizes.values())

    def keep(self, content: bytes) -> str | None:
        """Keep a value until it is uploaded, and return its hash, or None if it is too large."""
        if len(content) > MAX_BLOB_BYTES:
            return None
        digest = hashlib.sha256(content).hexdigest()
        if not self._write(digest, content):
            self._held[digest] = content
        return digest

    def find(self, digest: str) -> Path | bytes | None:
        """Return a value that is not uploaded yet."""
        path = self._folder / digest
        return self._held.get(digest) or (path if path.is_file() else None)

    def forget(self, digest: str) -> None:
        """Remove a value that was uploaded."""
        self._held.pop(digest, None)
        self._sizes.pop(digest, None)
        (self._folder / digest).unlink(missing_ok=True)

    def settle(self) -> bool:
        """Write values that are held in memory. Return whether all of them are on disk now."""
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
    """Remove an incomplete file."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return
