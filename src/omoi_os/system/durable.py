"""Files that survive a power cut: when these functions return, their changes are on disk.

A rename alone is not enough: after a cut the new name may lead to an empty file, or the old name may be back.
"""

# Only `os`: a sandbox's supervisor uses this too, and every import slows its start.
# ruff: noqa: PTH100, PTH102, PTH105, PTH108, PTH112, PTH113, PTH114, PTH118, PTH120

import os


def write(path: "str | os.PathLike[str]", content: bytes, *, mode: int = 0o600) -> None:
    """Replace a file as a whole: write aside, fsync, rename, fsync the folder."""
    draft = _draft(path, content, mode=mode)
    try:
        os.replace(draft, path)
    except OSError:
        os.unlink(draft)
        raise
    sync_folder(os.path.dirname(os.fspath(path)) or ".")


def create(path: "str | os.PathLike[str]", content: bytes, *, mode: int = 0o600) -> bool:
    """Create a file; return False if another process was first, whose content stays."""
    draft = _draft(path, content, mode=mode)
    try:
        # A hard link, unlike a rename, fails when the name is taken.
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(draft)
    sync_folder(os.path.dirname(os.fspath(path)) or ".")
    return True


def make_folder(path: "str | os.PathLike[str]", *, mode: int = 0o777) -> None:
    """Create a folder and its parents, each with its name on disk. An existing folder is not changed."""
    parent = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(parent):
        make_folder(parent)
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        return
    sync_folder(parent)


def sync_folder(path: "str | os.PathLike[str]") -> None:
    """Flush the names in a folder to disk."""
    sync(path, os.O_DIRECTORY)


def sync(path: "str | os.PathLike[str]", flags: int = 0) -> None:
    """Flush the content of a file to disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _draft(path: "str | os.PathLike[str]", content: bytes, *, mode: int) -> str:
    draft = f"{os.fspath(path)}.{os.urandom(6).hex()}.new"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        os.unlink(draft)
        raise
    return draft


def sync_tree(path: "str | os.PathLike[str]") -> None:
    """Flush every file and folder below a folder to disk, without following links."""
    for folder, _, names in os.walk(path, topdown=False):
        for name in names:
            file = os.path.join(folder, name)
            if os.path.isfile(file) and not os.path.islink(file):
                sync(file)
        sync_folder(folder)


def sync_file_system(path: "str | os.PathLike[str]") -> None:
    """Flush the whole file system of this path to disk; meant for trees of many files."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _sync_fs(descriptor)
    finally:
        os.close(descriptor)


def _sync_fs(descriptor: int) -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syncfs(descriptor) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
