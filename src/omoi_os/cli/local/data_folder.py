"""The data folder: private to its owner, and used by one platform at a time."""

import fcntl
import os
from pathlib import Path
from typing import Self

from omoi_os.errors import SetupError

LOCK = "serve.lock"


def prepare(data_dir: Path) -> None:
    """Make the folder, or make an existing one of ours private. Raises `SetupError`."""
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = data_dir.stat()
        if status.st_uid != os.geteuid():
            raise SetupError(
                f"the data folder {data_dir} belongs to another user; choose one of your own with OMOI_DATA_DIR"
            )
        if status.st_mode & 0o077:
            _make_private(data_dir)
    except OSError as error:
        raise SetupError(
            f"the data folder {data_dir} cannot be used ({error.strerror}: {error.filename}); "
            "choose another with OMOI_DATA_DIR"
        ) from error


def _make_private(data_dir: Path) -> None:
    # Closing a folder that holds other things, say /tmp, would break them.
    if any(data_dir.iterdir()) and not (data_dir / LOCK).exists():
        raise SetupError(
            f"{data_dir} is open to other users and holds other things; choose an empty OMOI_DATA_DIR, "
            f"or close this one (chmod 700 {data_dir})"
        )
    data_dir.chmod(0o700)


class Lock:
    """Holds the data folder for one `omoi serve`; the kernel lets go when the process ends, however it ends.

    `unclean` tells whether the one before was killed: its number is still in the file.
    """

    def __init__(self, data_dir: Path) -> None:
        self._descriptor = os.open(data_dir / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        holder = os.read(self._descriptor, 32).decode(errors="replace").strip()
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            raise SetupError(
                f"another `omoi serve` (process {holder or 'unknown'}) uses {data_dir}; "
                "stop it, or choose another OMOI_DATA_DIR and OMOI_PORT"
            ) from None
        self.unclean = bool(holder)
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
