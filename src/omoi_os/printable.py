"""Text of agents, repositories and strangers, made safe for a terminal and for a log of lines."""

import re

#: Whatever could move a cursor, colour a terminal, reach its clipboard or turn text around is shown, not obeyed.
_ACTED_ON = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
_UNPRINTABLE = re.compile(f"[{_ACTED_ON}]")
_NOT_ON_A_LINE = re.compile(f"[\t\n{_ACTED_ON}]")


def printable(text: str) -> str:
    """The text with every character that a terminal would act on written out; line ends and tabs stay."""
    return _UNPRINTABLE.sub(_written_out, text)


def one_line(text: str) -> str:
    """The same without line ends and tabs, so that no text can pass for another line."""
    return _NOT_ON_A_LINE.sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
