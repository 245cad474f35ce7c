"""Notes: what the agent writes down for itself, beside the repository, to be carried from round to round."""

from __future__ import annotations

import os
import stat
from pathlib import Path

MAX_BYTES = 8 * 1024


def read_notes(path: Path) -> str:
    """The end of the notes; nothing when there are none or when the file is no plain one."""
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
