"""Outputs: what a command printed in full, where the CLI tells the model only how it began."""

from __future__ import annotations

import os
import stat
from typing import Any

#: What is kept of one output. Written as JSON it still fits one line to the reporter, whatever bytes it has.
MAX_OUTPUT_BYTES = 8 * 1024 * 1024


def full_output(structured: Any) -> str | None:
    """The output that the CLI put into a file because it was too long for the model; None when there is no such file.

    The file is the agent's own and may be anything by now: only a regular one is read, and never more than fits.
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
