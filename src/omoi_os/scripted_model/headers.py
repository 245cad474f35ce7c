"""The headers between the gateway and the scripted model."""

import base64
import binascii

#: Base64 of the calling task's title and description, UTF-8.
TASK_TITLE = "x-omoi-task-title"
TASK_DESCRIPTION = "x-omoi-task-description"

#: `1` on an answer that is final: the same request will never succeed, so the task has failed.
REFUSAL = "x-omoi-refusal"

#: What is sent of each text, so that its header fits into the 8,190 bytes that HTTP servers take for one.
MAX_TEXT_BYTES = 4096


def task_headers(title: str, description: str | None) -> dict[str, str]:
    """The headers that tell the scripted model which task is calling."""
    return {TASK_TITLE: _encode(title), TASK_DESCRIPTION: _encode(description or "")}


def read_text(value: str | None) -> str | None:
    """What one header says; `None` without it or when it is not base64."""
    if value is None:
        return None
    try:
        return base64.b64decode(value, validate=True).decode(errors="ignore")
    except (binascii.Error, ValueError):
        return None


def _encode(text: str) -> str:
    return base64.b64encode(text.encode(errors="ignore")[:MAX_TEXT_BYTES]).decode()
