"""Read JSON strictly, refusing what cannot be stored or returned unchanged, in time linear in the input."""

import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from pydantic_core import from_json

#: Text that may be a number too large for a float. A run of digits is scanned once, from its start.
_MAYBE_INFINITE = re.compile(rb"[eE]\+?\d{3}|(?<!\d)\d{300}")

#: A body with more parts than this is refused: building a million small values would delay other requests.
MAX_PARTS = 200_000
#: A string up to its end or, if it has none, up to the end of the input: no character is scanned twice.
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
_STRINGS = re.compile(_STRING, re.DOTALL)
_TOKENS = re.compile(_STRING + rb"|[\[{]++|[\]}]++|[,:]", re.DOTALL)


def parse(raw: bytes, *, finite: bool = True) -> Any:
    """Return the value. Raise `ValueError` for invalid JSON.

    Invalid are: not UTF-8, deeper than 200, more than `MAX_PARTS` values, not a number, a lone surrogate, too many
    digits. Numbers too large for a float are detected only on request, because writing the value detects them too.
    """
    if has_too_many_parts(raw):
        raise ValueError(f"more than {MAX_PARTS} values")
    value = from_json(raw, allow_inf_nan=False)
    if finite and _MAYBE_INFINITE.search(raw) and not _finite(value):
        raise ValueError("number out of range")
    return value


def has_too_many_parts(raw: bytes, *, limit: int = MAX_PARTS) -> bool:
    """Tell whether the text has more strings, commas and opening brackets than `limit`, without building values."""
    if len(raw) <= limit or _separators(raw, 0, len(raw)) + raw.count(b'"') // 2 <= limit:
        return False
    found = last = 0
    for string in _STRINGS.finditer(raw):
        # Each string counts as a part, which bounds the number of iterations.
        found += 1 + _separators(raw, last, string.start())
        last = string.end()
        if found > limit:
            return True
    return found + _separators(raw, last, len(raw)) > limit


def _separators(raw: bytes, start: int, end: int) -> int:
    return raw.count(b",", start, end) + raw.count(b"[", start, end) + raw.count(b"{", start, end)


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(_finite(item) for item in value.values())
    return all(_finite(item) for item in value) if isinstance(value, list) else True


def elements(raw: bytes, name: str) -> list[bytes] | None:
    """Return the texts of the elements of the list that an object has under this name.

    For a body that is not valid as a whole, so that its parts can be judged apart: nothing is said of them. None when
    the outside is not an object, or no list is there.
    """
    found: list[bytes] = []
    begun = -1
    for depth, key, start, token in _outline(raw, levels=2):
        if token == b"[" and depth == 2 and key == f'"{name}"'.encode():
            begun = start + 1
        elif begun >= 0 and depth == 2 and token in (b",", b"]"):
            found.append(raw[begun:start].strip())
            begun = start + 1
            if token == b"]":
                return [text for text in found if text]
    return None


def scalar(raw: bytes, name: str) -> bytes | None:
    """Return the text of the scalar that an object has under this name, whatever the rest contains."""
    begun = -1
    for depth, key, start, token in _outline(raw, levels=1):
        if depth == 1 and token == b":" and key == f'"{name}"'.encode():
            begun = start + 1
        elif depth == 1 and begun >= 0 and token in (b",", b"}"):
            return raw[begun:start].strip()
    return None


def _outline(raw: bytes, *, levels: int) -> Iterator[tuple[int, bytes, int, bytes]]:
    """The marks of an object down to so many levels, up to its end: depth, text before, place, the mark itself."""
    depth, key = 0, b""
    for match in islice(_TOKENS.finditer(raw), MAX_PARTS):
        token = match.group()
        if token[:1] == b'"':
            key = token
        elif token in (b",", b":"):
            if 1 <= depth <= levels:
                yield depth, key, match.start(), token
            if token == b",":
                key = b""
        elif token[:1] in b"[{":
            if depth == 0 and token[:1] != b"{":
                return
            if depth < levels:
                yield from _opened(depth, key, match.start(), token[: levels - depth])
            depth, key = depth + len(token), b""
        else:
            for number in range(max(0, depth - levels), min(depth, len(token))):
                yield depth - number, key, match.start() + number, token[number : number + 1]
            depth, key = depth - len(token), b""
            if depth <= 0:
                return


def _opened(depth: int, key: bytes, start: int, marks: bytes) -> Iterator[tuple[int, bytes, int, bytes]]:
    for number in range(len(marks)):
        yield depth + number + 1, key if number == 0 else b"", start + number, marks[number : number + 1]
