"""The full output of a command of which the CLI shows the model only the start."""

from __future__ import annotations

import os
import stat
from typing import Any

#: The most that is kept of one output. Encoded as JSON it fits in one message to the reporter, whatever its bytes.
MAX_OUTPUT_BYTES = 8 * 1024 * 1024


def full_output(structured: Any) -> str | None:
    """Return the output that the CLI wrote to a file because it was too long for the model, or None.

    The agent can replace the file, so only a regular file is read, and never more than `MAX_OUTPUT_BYTES`.
    """
    path = structured.get("persistedOutputPath") if isinstance(structured, dict) else None
    if not isinstance(path, str) or "\0" in path:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file:
        text = file.read(MAX_OUTPUT_BYTES).decode("utf-8", "replace")
    if about.st_size <= MAX_OUTPUT_BYTES:
        return text
    return f"{text}\n[the first {MAX_OUTPUT_BYTES} of {about.st_size} bytes]"
