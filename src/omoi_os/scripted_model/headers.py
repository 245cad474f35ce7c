"""Headers between the gateway and the scripted model."""

import base64
import binascii

#: Title and description of the calling task, base64 of UTF-8.
TASK_TITLE = "x-omoi-task-title"
TASK_DESCRIPTION = "x-omoi-task-description"

#: `1` on a final error: the same request will never succeed, so the task fails.
REFUSAL = "x-omoi-refusal"

#: The length to which each text is cut, so that its header fits into the 8,190 bytes that HTTP servers accept.
MAX_TEXT_BYTES = 4096


def task_headers(title: str, description: str | None) -> dict[str, str]:
    """Return the headers that identify the calling task to the scripted model."""
    return {TASK_TITLE: _encode(title), TASK_DESCRIPTION: _encode(description or "")}


def read_text(value: str | None) -> str | None:
    """Return the value of one header; None if it is missing or not base64."""
    if value is None:
        return None
    try:
        return base64.b64decode(value, validate=True).decode(errors="ignore")
    except (binascii.Error, ValueError):
        return None


def _encode(text: str) -> str:
    return base64.b64encode(text.encode(errors="ignore")[:MAX_TEXT_BYTES]).decode()
