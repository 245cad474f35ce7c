"""The agent's notes, which it keeps beside the repository from one iteration to the next."""

from __future__ import annotations

import os
import stat
from pathlib import Path

MAX_BYTES = 8 * 1024


def read_notes(path: Path) -> str:
    """Return the end of the notes, or an empty text if there is no regular file."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            return ""
        content = os.pread(file, MAX_BYTES, max(0, about.st_size - MAX_BYTES))
    except OSError:
        return ""
    finally:
        os.close(file)
    return content.decode(errors="replace").strip()
