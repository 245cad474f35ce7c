"""The identity of a data folder: a file in it, so that a moved folder is still the same site."""

import hashlib
import re
import secrets
import socket
from pathlib import Path

from omoi_os.errors import SetupError
from omoi_os.system import durable

FILE = "site"

_ID = re.compile(r"[0-9a-f]{16,64}", re.ASCII)


def site_of(data_dir: Path) -> str:
    """Return the identity of a data folder; create it on first use. Raise `SetupError` if the file is damaged."""
    path = data_dir / FILE
    try:
        found = path.read_text(errors="replace").strip()
    except FileNotFoundError:
        durable.make_folder(data_dir, mode=0o700)
        if durable.create(path, f"{_first(data_dir)}\n".encode()):
            return site_of(data_dir)
        found = path.read_text(errors="replace").strip()
    if not _ID.fullmatch(found):
        raise SetupError(
            f"{path} is damaged, so this data folder cannot be identified: write the folder's id into it"
            " (16 hexadecimal digits, column site of its sandboxes), or remove the file to start as a new installation"
        )
    return found


def _first(data_dir: Path) -> str:
    """Return a new identity. Folders without the file, from older versions, are identified by machine and path."""
    if (data_dir / "sandboxes").is_dir() or (data_dir / "repos").is_dir():
        return hashlib.sha256(f"{socket.gethostname()}:{data_dir}".encode()).hexdigest()[:16]
    return secrets.token_hex(8)
