"""Takes secrets out of what is stored: values this installation knows, and the shapes of well-known tokens."""

import base64
import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import msgspec

MASK = "[masked]"

_SHAPES = re.compile(
    r"sk-ant-[A-Za-z0-9_-]{16,}"
    r"|sbx_[A-Za-z0-9_-]{20,}"
    r"|omoi_[A-Za-z0-9_-]{20,}"
    r"|gh[pousr]_[A-Za-z0-9]{30,}"
    r"|github_pat_[A-Za-z0-9_]{40,}"
    r"|AKIA[0-9A-Z]{16}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----",
    re.DOTALL,
)

#: What each of these shapes begins with: text without any of them needs no closer look.
_BEGINNINGS = (
    *("sk-ant-", "sbx_", "omoi_", "AKIA", "xox", "-----BEGIN "),
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
        self._signs = (*(_escaped(form) for form in forms), *_BEGINNINGS)

    def dump(self, value: Any) -> str:
        """The JSON value without secrets, as text. `ValueError` if it holds a number that is none in JSON."""
        text = _encode(value)
        # Whatever a text inside holds stands here too, only with its quotes, backslashes and controls escaped.
        for sign in self._signs:
            if sign in text:
                masked = self.mask(value)
                return text if masked == value else _encode(masked)
        return text

    def mask_text(self, text: str) -> str:
        """The text without secrets."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
        return _SHAPES.sub(MASK, text)

    def mask(self, value: Any) -> Any:
        """The JSON value without secrets."""
        if isinstance(value, str):
            return self.mask_text(value)
        if isinstance(value, dict):
            return {self.mask_text(key): self.mask(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.mask(item) for item in value]
        return value


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
