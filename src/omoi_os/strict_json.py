"""Reads JSON strictly: what cannot be stored or sent back as it came is refused."""

import math
import re
from typing import Any

from pydantic_core import from_json

#: Only text like this can be a number beyond what a float holds.
_MAYBE_INFINITE = re.compile(rb"[eE]\+?\d{3}|\d{300}")


def parse(raw: bytes) -> Any:
    """The value, or `ValueError`: not UTF-8, deeper than 200, not a number, a lone surrogate, too many digits."""
    value = from_json(raw, allow_inf_nan=False)
    if _MAYBE_INFINITE.search(raw) and not _finite(value):
        raise ValueError("number out of range")
    return value


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(_finite(item) for item in value.values())
    return all(_finite(item) for item in value) if isinstance(value, list) else True
