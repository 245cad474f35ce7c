"""Takes secrets out of what is stored: values this installation knows, and the shapes of well-known tokens."""

import base64
import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import msgspec

MASK = "[masked]"

#: Tokens by their shape. Each is a prefix and a run of characters, so that no character is looked at more than a few
#: times. None needs more than `_LONGEST_SHAPE` characters to be recognised.
_SHAPES = re.compile(
    r"sk-ant-[A-Za-z0-9_-]{16,}"
    r"|sbx_[A-Za-z0-9_-]{20,}"
    r"|omoi_[A-Za-z0-9_-]{20,}"
    r"|gh[pousr]_[A-Za-z0-9]{30,}"
    r"|github_pat_[A-Za-z0-9_]{40,}"
    r"|AKIA[0-9A-Z]{16}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}"
)
_LONGEST_SHAPE = 64

#: The two ends of a private key.
_BEGIN, _END = "-----BEGIN ", "-----END "
_BEGINS = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")
_ENDS = re.compile(r"-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")

#: How much is searched at a time. A search holds the interpreter, and with it the event loop, until it is over.
WINDOW = 64 * 1024

#: What each of these shapes begins with: text without any of them needs no closer look.
_BEGINNINGS = (
    *("sk-ant-", "sbx_", "omoi_", "AKIA", "xox", _BEGIN),
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
)

_quick = msgspec.json.Encoder().encode
_strict = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False).encode


class Masker:
    """Replaces secrets in text and in every text inside a JSON value, keys included."""

    def __init__(self, known_values: Iterable[str | None] = ()) -> None:
        forms = {form for value in known_values if value and len(value) >= 8 for form in _forms(value)}
        pattern = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
        self._known = re.compile(pattern) if pattern else None
        self._longest = max((len(form) for form in forms), default=0)
        self._signs = (*(_escaped(form) for form in forms), *_BEGINNINGS)

    def dump(self, value: Any) -> str:
        """The JSON value without secrets, as text. `ValueError` if it holds a number that is none in JSON."""
        return self.masked(value)[1]

    def masked(self, value: Any) -> tuple[Any, str]:
        """The JSON value without secrets, and the same as text. Raises what `dump` raises."""
        text = _encode(value)
        # Whatever a text inside holds stands here too, only with its quotes, backslashes and controls escaped.
        for sign in self._signs:
            if sign in text:
                masked = self.mask(value)
                return (value, text) if masked == value else (masked, _encode(masked))
        return value, text

    def mask_text(self, text: str) -> str:
        """The text without secrets. Takes time linear in its length, and lets other threads run in between."""
        if self._known is not None:
            text = _replace(self._known, text, longest=self._longest)
        return _replace(_SHAPES, _without_keys(text), longest=_LONGEST_SHAPE)

    def mask(self, value: Any) -> Any:
        """The JSON value without secrets."""
        if isinstance(value, str):
            return self.mask_text(value)
        if isinstance(value, dict):
            return {self.mask_text(key): self.mask(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.mask(item) for item in value]
        return value


def _replace(pattern: re.Pattern[str], text: str, *, longest: int) -> str:
    """Put `MASK` in place of every match, as `pattern.sub` does, searching one window after the other.

    Whether there is a match at a place depends on at most `longest` characters from there on.
    """
    if len(text) <= WINDOW:
        return pattern.sub(MASK, text)
    kept: list[str] = []
    done = start = 0
    while start < len(text):
        end = min(len(text), start + WINDOW + longest)
        found = pattern.search(text, start, end)
        if found is None or (found.start() + longest > end and end < len(text)):
            # Nothing starts before the last characters of the window; there it may have been cut.
            start = end if end == len(text) else end - longest
            continue
        if found.end() == end < len(text):
            found = pattern.match(text, found.start()) or found
        kept += (text[done : found.start()], MASK)
        done = start = found.end()
    return "".join((*kept, text[done:])) if done else text


def _without_keys(text: str) -> str:
    """The text without private keys: each from its first line to the next last line, however far away that is."""
    kept: list[str] = []
    done = 0
    while (begin := _find(_BEGINS, _BEGIN, text, done)) is not None:
        end = _find(_ENDS, _END, text, begin.end())
        if end is None:
            # Neither have those that begin behind it.
            break
        kept += (text[done : begin.start()], MASK)
        done = end.end()
    return "".join((*kept, text[done:])) if done else text


def _find(pattern: re.Pattern[str], start: str, text: str, place: int) -> re.Match[str] | None:
    """The first match from a place on of a pattern that starts with this text."""
    while (place := _index(text, start, place)) >= 0:
        # No key's first line is longer than a window.
        found = pattern.match(text, place, place + WINDOW)
        if found is not None:
            return found
        place += len(start)
    return None


def _index(text: str, part: str, place: int) -> int:
    """`text.find`, searching one window after the other."""
    while place < len(text):
        found = text.find(part, place, place + 16 * WINDOW + len(part))
        if found >= 0:
            return found
        place += 16 * WINDOW
    return -1


def _encode(value: Any) -> str:
    text = _quick(value).decode()
    # The quick one writes null for what is no number in JSON; only where there is none can all be as it was.
    return _strict(value) if "null" in text else text


def _escaped(form: str) -> str:
    """The text as it stands inside a JSON text."""
    return json.dumps(form, ensure_ascii=False)[1:-1]


def _forms(value: str) -> Iterable[str]:
    """The value as it is, URL-encoded, in hex, and in base64 at each of its three offsets."""
    raw = value.encode()
    yield value
    yield quote(value, safe="")
    yield raw.hex()
    yield raw.hex().upper()
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
        first_clean = (0, 2, 3)[offset]
        last_clean = len(encoded) - (1 if (offset + len(raw)) % 3 else 0)
        yield encoded[first_clean:last_clean]
        yield encoded[first_clean:last_clean].translate(str.maketrans("+/", "-_"))
