"""Reading and replacing files below a folder, following no link that may have been planted there."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

#: The largest file that is read or written.
MAX_BYTES = 64 * 1024 * 1024

#: How a folder is opened that must not be a link.
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_CHUNK = 1024 * 1024


def locate(path: str, folders: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Split an absolute path into one of the folders and the parts below it.

    Raises `ValueError` for a path that is not that of a file below one of them.
    """
    for folder in folders:
        if path.startswith(f"{folder}/") and "\0" not in path:
            below = path[len(folder) + 1 :]
            parts = tuple(part for part in below.split("/") if part not in ("", "."))
            if parts and not below.startswith("/") and ".." not in parts:
                return folder, parts
    raise ValueError(f"{path!r} is not the path of a file under {' or '.join(folders)}")


def read(base: int, parts: Sequence[str]) -> Iterator[bytes]:
    """Yield the content of a plain file. Raises `OSError`, and `ValueError` if it is not plain or too large.

    `base` is a descriptor of the folder that the parts start from; it is closed.
    """
    with _opened(base, parts[:-1]) as parent:
        # Without waiting: a named pipe would block forever.
        fd = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
        try:
            about = os.fstat(fd)
            if not stat.S_ISREG(about.st_mode):
                raise ValueError("is not a plain file")
            left = MAX_BYTES + 1
            # The size is known before anything is read: a file with holes may be larger than its disk.
            while about.st_size <= MAX_BYTES and left and (chunk := os.read(fd, min(left, _CHUNK))):
                left -= len(chunk)
                yield chunk
            if about.st_size > MAX_BYTES or not left:
                raise ValueError(f"is larger than {MAX_BYTES} bytes")
        finally:
            os.close(fd)


def write(base: int, parts: Sequence[str], content: Iterable[bytes], *, owner: os.stat_result | None = None) -> None:
    """Replace a file, creating its parents. Raises `OSError`.

    What is created belongs to `owner`, if given. `base` is a descriptor of the folder that the parts start from; it is
    closed.
    """
    new = f".omoi-{os.urandom(8).hex()}"
    with _opened(base, parts[:-1], create=True, owner=owner) as parent:
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=parent)
        try:
            if owner is not None:
                os.fchown(fd, owner.st_uid, owner.st_gid)
            os.fchmod(fd, 0o644)
            for chunk in content:
                view = memoryview(chunk)
                while view:
                    view = view[os.write(fd, view) :]
            os.replace(new, parts[-1], src_dir_fd=parent, dst_dir_fd=parent)
        except OSError:
            os.unlink(new, dir_fd=parent)
            raise
        finally:
            os.close(fd)


def chunks_of(fd: int) -> Iterator[bytes]:
    """Yield what can be read from a descriptor."""
    while chunk := os.read(fd, _CHUNK):
        yield chunk


def explain(number: int, message: str) -> str:
    """Return a sentence about the error with this number."""
    linked = number in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
    return "a part of it is a link or not a folder" if linked else message


@contextmanager
def _opened(
    fd: int, parts: Sequence[str], *, create: bool = False, owner: os.stat_result | None = None
) -> Iterator[int]:
    """Open a folder below another one, step by step. Closes both."""
    try:
        for part in parts:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=fd)
                    if owner is not None:
                        os.chown(part, owner.st_uid, owner.st_gid, dir_fd=fd, follow_symlinks=False)
            below = os.open(part, FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)
