"""Masks secrets before anything is stored: secret values that are known, and tokens of well-known shapes."""

import base64
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Self
from urllib.parse import quote

import msgspec

MASK = "[masked]"

#: Shapes of tokens. Each is a prefix and a run of characters, so matching takes linear time. `_LONGEST_SHAPE`
#: characters are enough to recognise any of them.
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

#: The first and last line of a private key.
_BEGIN, _END = "-----BEGIN ", "-----END "
_BEGINS = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")
_ENDS = re.compile(r"-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")

#: Number of characters searched at a time. A search blocks the interpreter, and with it the event loop.
WINDOW = 64 * 1024

#: How these shapes start. Text without any of these needs no search.
_BEGINNINGS = (
    *("sk-ant-", "sbx_", "omoi_", "AKIA", "xox", _BEGIN),
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
)

_fast = msgspec.json.Encoder().encode
_strict = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False).encode


#: Shorter values are not masked: they could be ordinary words.
_MIN_SECRET_CHARACTERS = 8


class Masker:
    """Replaces secrets in text and in every text inside a JSON value, keys included.

    One masker is shared by all parts of a process. `add` and `remove` change the known values while it is used, in
    other threads too: every later call uses the new set, and a call that is running uses one set throughout.
    """

    def __init__(self, known_values: Iterable[str | None] = ()) -> None:
        self._lock = Lock()
        #: How often each value was added: the same secret may belong to several credentials.
        self._values: Counter[str] = Counter()
        self._patterns = _Patterns.of(())
        self.add(known_values)

    def add(self, values: Iterable[str | None]) -> None:
        """Mask these values from now on."""
        with self._lock:
            self._values.update(_secrets(values))
            self._patterns = _Patterns.of(self._values)

    def remove(self, values: Iterable[str | None]) -> None:
        """Stop masking these values, each unless it was added more often than removed."""
        with self._lock:
            # The binary operation drops counts below one.
            self._values = self._values - Counter(_secrets(values))
            self._patterns = _Patterns.of(self._values)

    def dump(self, value: Any) -> str:
        """Return the masked JSON value as text. Raises `ValueError` for a number that JSON does not have."""
        return self.masked(value)[1]

    def masked(self, value: Any) -> tuple[Any, str]:
        """Return the masked JSON value, and the same as text. Raises `ValueError` as `dump` does."""
        return self._patterns.masked(value)

    def mask_text(self, text: str) -> str:
        """Return the masked text. Takes linear time and lets other threads run in between."""
        return self._patterns.mask_text(text)

    def mask(self, value: Any) -> Any:
        """Return the masked JSON value."""
        return self._patterns.mask(value)


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The forms of one set of known values."""

    #: From the longest to the shortest, so that a form is preferred to a part of it.
    forms: tuple[str, ...]
    #: Texts of which a JSON text must contain one to contain a secret.
    signs: tuple[str, ...]

    @classmethod
    def of(cls, values: Iterable[str]) -> Self:
        forms = {form for value in values for form in _forms(value)}
        return cls(
            forms=tuple(sorted(forms, key=len, reverse=True)),
            signs=(*(_escaped(form) for form in forms), *_BEGINNINGS),
        )

    def masked(self, value: Any) -> tuple[Any, str]:
        text = _encode(value)
        # The text contains every text of the value, with quotes, backslashes and control characters escaped.
        for sign in self.signs:
            if sign in text:
                masked = self.mask(value)
                return (value, text) if masked == value else (masked, _encode(masked))
        return value, text

    def mask_text(self, text: str) -> str:
        # Few forms are found, if any. A pattern of all of them would be tried at every character.
        if found := [form for form in self.forms if form in text]:
            text = _replace(re.compile("|".join(map(re.escape, found))), text, longest=len(found[0]))
        return _replace(_SHAPES, _without_keys(text), longest=_LONGEST_SHAPE)

    def mask(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.mask_text(value)
        if isinstance(value, dict):
            return {self.mask_text(key): self.mask(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.mask(item) for item in value]
        return value


def _secrets(values: Iterable[str | None]) -> list[str]:
    return [value for value in values if value and len(value) >= _MIN_SECRET_CHARACTERS]


def _replace(pattern: re.Pattern[str], text: str, *, longest: int) -> str:
    """Replace every match by `MASK`, as `pattern.sub` does, one window at a time.

    At most `longest` characters from a position on decide whether there is a match.
    """
    if len(text) <= WINDOW:
        return pattern.sub(MASK, text)
    kept: list[str] = []
    done = start = 0
    while start < len(text):
        end = min(len(text), start + WINDOW + longest)
        found = pattern.search(text, start, end)
        if found is None or (found.start() + longest > end and end < len(text)):
            # No match starts before the last `longest` characters of the window. A match there may be cut off.
            start = end if end == len(text) else end - longest
            continue
        if found.end() == end < len(text):
            found = pattern.match(text, found.start()) or found
        kept += (text[done : found.start()], MASK)
        done = start = found.end()
    return "".join((*kept, text[done:])) if done else text


def _without_keys(text: str) -> str:
    """Return the text without private keys, each from its first to its last line, however long it is."""
    kept: list[str] = []
    done = 0
    while (begin := _find(_BEGINS, _BEGIN, text, done)) is not None:
        end = _find(_ENDS, _END, text, begin.end())
        if end is None:
            # Keys that start later have no end either.
            break
        kept += (text[done : begin.start()], MASK)
        done = end.end()
    return "".join((*kept, text[done:])) if done else text


def _find(pattern: re.Pattern[str], start: str, text: str, place: int) -> re.Match[str] | None:
    """Return the first match, from a position on, of a pattern that starts with this text."""
    while (place := _index(text, start, place)) >= 0:
        # The first line of a key is never longer than a window.
        found = pattern.match(text, place, place + WINDOW)
        if found is not None:
            return found
        place += len(start)
    return None


def _index(text: str, part: str, place: int) -> int:
    """Do what `text.find` does, one window at a time."""
    while place < len(text):
        found = text.find(part, place, place + 16 * WINDOW + len(part))
        if found >= 0:
            return found
        place += 16 * WINDOW
    return -1


def _encode(value: Any) -> str:
    text = _fast(value).decode()
    # The fast encoder writes null for NaN and infinity. Without null in the text, there are none.
    return _strict(value) if "null" in text else text


def _escaped(form: str) -> str:
    """Return the text as it is written inside a JSON string."""
    return json.dumps(form, ensure_ascii=False)[1:-1]


def _forms(value: str) -> Iterable[str]:
    """Yield the value as it is, URL-encoded, in hex, and in base64 at each of its three offsets."""
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
