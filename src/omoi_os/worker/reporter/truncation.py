"""Truncate large values for the row and keep them whole in a blob, and make text storable."""

from __future__ import annotations

import json
import re
from typing import Any

from omoi_os.worker.reporter.blobs import Blobs

MAX_VALUE_BYTES = 16 * 1024
PREVIEW_BYTES = 4 * 1024
MAX_KEYS = 64
#: The length of each text inside a structure that is too large.
INNER_TEXT_BYTES = 2 * 1024

#: NUL and lone surrogates are valid JSON, but the database cannot store them.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def bounded(data: dict[str, Any], *, blobs: Blobs) -> dict[str, Any]:
    """Return the data with every value at most 16 KiB. Larger values are kept in `blobs`, uploaded before the event."""
    bounded_data: dict[str, Any] = {}
    for key, value in list(data.items())[:MAX_KEYS]:
        name, value = clean(key)[:128], clean(value)
        content = _encode(value)
        if len(content) <= MAX_VALUE_BYTES:
            bounded_data[name] = value
        elif name == "full_diff":
            digest = blobs.keep(content)
            bounded_data |= {"full_diff": None, "diff_blob": digest}
            if digest is None:
                bounded_data["full_diff_truncated"] = True
        else:
            bounded_data[name] = _cut(value, content)
            bounded_data[f"{name}_truncated"] = True
            bounded_data[f"{name}_size"] = len(content)
            bounded_data[f"{name}_blob"] = blobs.keep(content)
    return bounded_data


def clean(value: Any) -> Any:
    """Replace every character that cannot be stored."""
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(str(key)): clean(item) for key, item in value.items()}
    return value


def _storable(text: str) -> str:
    # Checking is much cheaper than replacing, and hardly any text needs it.
    if "\0" not in text:
        try:
            text.encode()
        except UnicodeEncodeError:
            pass
        else:
            return text
    return _UNSTORABLE.sub("\ufffd", text)


def cut_text(text: str, size: int) -> str:
    """Return the start of a text, at most `size` bytes of UTF-8."""
    return text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


def _encode(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def _cut(value: Any, content: bytes) -> Any:
    if isinstance(value, str):
        return cut_text(value, MAX_VALUE_BYTES)
    smaller = _cut_inner(value)
    if len(_encode(smaller)) <= MAX_VALUE_BYTES:
        return smaller
    return {"preview": content[:INNER_TEXT_BYTES].decode("utf-8", "ignore")}


def _cut_inner(value: Any) -> Any:
    if isinstance(value, str):
        return cut_text(value, INNER_TEXT_BYTES)
    if isinstance(value, list):
        return [_cut_inner(item) for item in value]
    if isinstance(value, dict):
        return {key: _cut_inner(item) for key, item in value.items()}
    return value
