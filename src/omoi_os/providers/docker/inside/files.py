"""Reading and writing files inside the container, as the sandbox's own user, following no link."""

import contextlib
import os
import stat

from omoi_os.providers.docker.inside import wire

#: The largest file that is read or written this way.
MAX_BYTES = 64 * 1024 * 1024

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1024 * 1024


def read(base: str, parts: list[str]) -> None:
    """Send the content of a plain file. Raises `OSError`, and `ValueError` for what is not one."""
    parent = _open_folder(base, parts[:-1], make=False)
    # Without waiting: a named pipe would hold us up for ever.
    fd = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    about = os.fstat(fd)
    if not stat.S_ISREG(about.st_mode):
        raise ValueError("it is not a plain file")
    if about.st_size > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES} bytes")
    left = MAX_BYTES
    while left and (chunk := os.read(fd, min(left, _CHUNK))):
        left -= len(chunk)
        wire.write_all(1, wire.frame(wire.CONTENT, chunk))


def write(base: str, parts: list[str], content: int) -> None:
    """Put a file in place of whatever has that name, making its parents. Raises `OSError`."""
    parent = _open_folder(base, parts[:-1], make=True)
    new = f".omoi-{os.urandom(8).hex()}"
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=parent)
    try:
        while chunk := os.read(content, _CHUNK):
            wire.write_all(fd, chunk)
        os.replace(new, parts[-1], src_dir_fd=parent, dst_dir_fd=parent)
    except OSError:
        os.unlink(new, dir_fd=parent)
        raise
    finally:
        os.close(fd)


def _open_folder(base: str, parts: list[str], *, make: bool) -> int:
    """A descriptor of a folder below the base, reached step by step; missing ones are made."""
    fd = os.open(base, _FOLDER)
    for part in parts:
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=fd)
        below = os.open(part, _FOLDER, dir_fd=fd)
        os.close(fd)
        fd = below
    return fd
