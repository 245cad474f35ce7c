"""Reading and writing a sandbox's files from outside, following no link that was planted inside."""

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

from omoi_os.errors import ProviderError
from omoi_os.protocol import paths
from omoi_os.providers.local.supervisor import disk

#: The largest file that is read or written this way.
MAX_BYTES = 64 * 1024 * 1024

#: Gives a descriptor, to be closed, of the home or the workspace by its name among `disk.FOLDERS`.
OpenFolder = Callable[[str], int]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def read(open_folder: OpenFolder, path: str) -> bytes:
    """The content of a file inside. Raises `FileNotFoundError`, and `ProviderError` for what is not a plain file."""
    name, parts = _locate(path)
    with _reported(path), _opened(open_folder(name), parts[:-1]) as parent:
        # Without waiting: a named pipe would hold us up for ever.
        fd = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
        with os.fdopen(fd, "rb") as file:
            about = os.fstat(fd)
            if not stat.S_ISREG(about.st_mode):
                raise ProviderError(f"{path} is not a plain file.")
            # Known before anything is read: a file with holes may be larger than its disk.
            content = file.read(MAX_BYTES + 1) if about.st_size <= MAX_BYTES else None
    if content is None or len(content) > MAX_BYTES:
        raise ProviderError(f"{path} is larger than {MAX_BYTES} bytes.")
    return content


def write(open_folder: OpenFolder, path: str, content: bytes) -> None:
    """Put a file in place of whatever has that name, making its parents; they belong to the sandbox's uid."""
    if len(content) > MAX_BYTES:
        raise ProviderError(f"The content for {path} is larger than {MAX_BYTES} bytes.")
    name, parts = _locate(path)
    base = open_folder(name)
    owner = os.fstat(base)
    new = f".omoi-{secrets.token_hex(8)}"
    with _reported(path), _opened(base, parts[:-1], owner=owner) as parent:
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=parent)
        try:
            with os.fdopen(fd, "wb") as file:
                os.fchown(fd, owner.st_uid, owner.st_gid)
                os.fchmod(fd, 0o644)
                file.write(content)
            os.replace(new, parts[-1], src_dir_fd=parent, dst_dir_fd=parent)
        except OSError:
            os.unlink(new, dir_fd=parent)
            raise


def _locate(path: str) -> tuple[str, tuple[str, ...]]:
    """Whether it is in the home or in the workspace, and the way from there."""
    for name, _, inside in disk.FOLDERS:
        if path.startswith(f"{inside}/") and "\0" not in path:
            parts = PurePosixPath(path[len(inside) + 1 :]).parts
            if parts and parts[0] != "/" and ".." not in parts:
                return name, parts
    raise ProviderError(f"{path!r} is not a file's path under {paths.HOME} or {paths.WORKSPACE}.")


@contextmanager
def _opened(fd: int, parts: tuple[str, ...], *, owner: os.stat_result | None = None) -> Iterator[int]:
    """A descriptor of a folder below, reached step by step; with an owner, missing ones are made. Closes all."""
    try:
        for part in parts:
            if owner is not None:
                _make_folder(part, parent=fd, owner=owner)
            below = os.open(part, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


def _make_folder(name: str, *, parent: int, owner: os.stat_result) -> None:
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
    except FileExistsError:
        return
    os.chown(name, owner.st_uid, owner.st_gid, dir_fd=parent, follow_symlinks=False)


@contextmanager
def _reported(path: str) -> Iterator[None]:
    """What cannot be a file's fault of ours becomes a `ProviderError`; a missing file stays one."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "no such file in the sandbox", path) from None
    except OSError as error:
        linked = error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
        reason = "a part of it is a link or not a folder" if linked else os.strerror(error.errno or 0)
        raise ProviderError(f"{path} cannot be used: {reason}.") from error
