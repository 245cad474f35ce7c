"""Reads JSON strictly: what cannot be stored or sent back as it came is refused."""

import math
import re
from itertools import islice
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


#: A body with more parts than this is not taken apart: that would keep others waiting.
_MAX_TOKENS = 100_000
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}\[\],:]', re.DOTALL)


def elements(raw: bytes, name: str, *, scalar: bool = False) -> list[bytes] | None:
    """The texts of the elements of the list that an object has under this name, or of the one scalar there.

    For a body that is not valid as a whole, so that its parts can be judged apart. Nothing is said of the parts; none
    if the outside is not an object, or what is named is not there.
    """
    depth, found, begun, key = 0, [], -1, b""
    wanted = f'"{name}"'.encode()
    inside = 1 if scalar else 2
    for match in islice(_TOKENS.finditer(raw), _MAX_TOKENS):
        token = match.group()
        if token in b"{[":
            depth += 1
            if depth == 1 and token != b"{":
                return None
            if not scalar and depth == 2 and key == wanted:
                if token != b"[":
                    return None
                begun = match.end()
        elif token in b"}]," and begun >= 0 and depth == inside:
            found.append(raw[begun : match.start()].strip())
            begun = match.end()
            if token != b"," or scalar:
                return [text for text in found if text]
        elif depth == 1 and token == b":" and scalar and key == wanted:
            begun = match.end()
        if token in b"}]":
            depth -= 1
        key = token if token[:1] == b'"' else (key if token in b":[{" else b"")
    return None
