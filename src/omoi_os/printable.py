"""Make untrusted text safe for a terminal and for log lines."""

import re

#: Characters that could move a cursor, colour a terminal, reach its clipboard or reorder text.
_ACTED_ON = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
_UNPRINTABLE = re.compile(f"[{_ACTED_ON}]")
_NOT_ON_A_LINE = re.compile(f"[\t\n{_ACTED_ON}]")


def printable(text: str) -> str:
    """Return the text with terminal control characters escaped; line ends and tabs stay."""
    return _UNPRINTABLE.sub(_written_out, text)


def one_line(text: str) -> str:
    """Return the text with line ends and tabs escaped too, so that it cannot fake another line."""
    return _NOT_ON_A_LINE.sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
