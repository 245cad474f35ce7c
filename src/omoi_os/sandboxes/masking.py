"""Takes secrets out of what is stored: values this installation knows, and the shapes of well-known tokens."""

import base64
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

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


class Masker:
    """Replaces secrets in text and in every text inside a JSON value, keys included."""

    def __init__(self, known_values: Iterable[str | None] = ()) -> None:
        forms = {form for value in known_values if value and len(value) >= 8 for form in _forms(value)}
        pattern = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
        self._known = re.compile(pattern) if pattern else None

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
