"""The kinds of text that requests may carry."""

import re
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def _without_nul(value: str) -> str:
    if "\x00" in value:
        raise ValueError("must not contain the character U+0000")
    return value


def _one_line(value: str) -> str:
    if _CONTROL.search(value):
        raise ValueError("must be one line without control characters")
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


#: A name or title: one line, not blank.
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300), AfterValidator(_one_line)]
#: A description of any length that fits a request.
Text = Annotated[str, StringConstraints(max_length=500_000), AfterValidator(_without_nul)]
#: A text that says something.
Prose = Annotated[Text, AfterValidator(_not_blank)]
#: A shell command that runs inside a sandbox.
Command = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=10_000), AfterValidator(_without_nul)
]
#: What is searched for.
Search = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200), AfterValidator(_without_nul)]
