"""Reading and writing a sandbox's files from outside, following no link that was planted inside."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from omoi_os.errors import ProviderError
from omoi_os.providers.guest import files
from omoi_os.providers.local.supervisor import disk

#: Returns a descriptor, which the caller closes, of the home or the workspace by its name in `disk.FOLDERS`.
OpenFolder = Callable[[str], int]

_NAMES = {inside: name for name, _, inside in disk.FOLDERS}


def read(open_folder: OpenFolder, path: str) -> bytes:
    """Return the content of a plain file inside. Raises `FileNotFoundError` and `ProviderError`."""
    name, parts = _locate(path)
    with _reported(path):
        return b"".join(files.read(open_folder(name), parts))


def write(open_folder: OpenFolder, path: str, content: bytes) -> None:
    """Replace a file inside, creating its parents; all of them belong to the sandbox's uid."""
    if len(content) > files.MAX_BYTES:
        raise ProviderError(f"The content for {path} is larger than {files.MAX_BYTES} bytes.")
    name, parts = _locate(path)
    base = open_folder(name)
    with _reported(path):
        files.write(base, parts, [content], owner=os.fstat(base))


def _locate(path: str) -> tuple[str, tuple[str, ...]]:
    """Return whether it is in the home or the workspace, and the parts of the path below that."""
    try:
        folder, parts = files.locate(path, list(_NAMES))
    except ValueError as error:
        raise ProviderError(f"{error}.") from None
    return _NAMES[folder], parts


@contextmanager
def _reported(path: str) -> Iterator[None]:
    """Raise `ProviderError` for what is wrong with a file, and `FileNotFoundError` if it is missing."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "no such file in the sandbox", path) from None
    except OSError as error:
        reason = files.explain(error.errno or 0, os.strerror(error.errno or 0))
        raise ProviderError(f"{path} cannot be used: {reason}.") from error
    except ValueError as error:
        raise ProviderError(f"{path} {error}.") from None
