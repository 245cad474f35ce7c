"""The data folder: private to its owner and locked by one `omoi serve` at a time."""

import fcntl
import os
from pathlib import Path
from typing import Self

from omoi_os.errors import SetupError

LOCK = "serve.lock"


def prepare(data_dir: Path) -> None:
    """Create the folder, or make an existing data folder private. Raises `SetupError`."""
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = data_dir.stat()
        if status.st_uid != os.geteuid():
            raise SetupError(
                f"the data folder {data_dir} belongs to another user; set OMOI_DATA_DIR to a folder of your own"
            )
        if status.st_mode & 0o077:
            _make_private(data_dir)
    except OSError as error:
        raise SetupError(
            f"the data folder {data_dir} cannot be used ({error.strerror}: {error.filename}); "
            "set OMOI_DATA_DIR to another folder"
        ) from error


def _make_private(data_dir: Path) -> None:
    # Making a folder with other files private, such as /tmp, would break other programs.
    if any(data_dir.iterdir()) and not (data_dir / LOCK).exists():
        raise SetupError(
            f"{data_dir} is accessible to other users and not empty; set OMOI_DATA_DIR to an empty folder, "
            f"or make this one private (chmod 700 {data_dir})"
        )
    data_dir.chmod(0o700)


class Lock:
    """Locks the data folder for one `omoi serve`. The kernel releases the lock when the process ends.

    `unclean` is true when the previous process was killed: its id is still in the file.
    """

    def __init__(self, data_dir: Path) -> None:
        self._descriptor = os.open(data_dir / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        owner = os.read(self._descriptor, 32).decode(errors="replace").strip()
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            raise SetupError(
                f"another `omoi serve` (process {owner or 'unknown'}) uses {data_dir}; "
                "stop it, or set another OMOI_DATA_DIR and OMOI_PORT"
            ) from None
        self.unclean = bool(owner)
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
