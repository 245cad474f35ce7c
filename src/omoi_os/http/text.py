"""The kinds of text that requests may carry."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, GetJsonSchemaHandler, StringConstraints
from pydantic_core import CoreSchema

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


@dataclass(frozen=True, slots=True)
class Described:
    """Adds to a type's schema what its validator checks, so that every text the schema allows is accepted."""

    keyword: str
    value: str | tuple[str, ...]

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Extend the schema of the OpenAPI document; this validates nothing."""
        value = self.value if isinstance(self.value, str) else list(self.value)
        return {**handler(core), self.keyword: value}


def matching(pattern: str) -> Described:
    """Add the pattern (ECMA 262) of a text to its schema."""
    return Described("pattern", pattern)


#: A visible character, for texts that are stripped of white space.
_VISIBLE = r"[^\s\x00-\x20\x7f-\xa0]"

#: A name or title: one line, not blank.
Line = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=300),
    AfterValidator(_one_line),
    matching(rf"^[^\x00-\x1f\x7f]*{_VISIBLE}[^\x00-\x1f\x7f]*$"),
]
#: A description of any length that fits a request.
Text = Annotated[str, StringConstraints(max_length=500_000), AfterValidator(_without_nul), matching(r"^[^\x00]*$")]
#: A text that is not blank.
Prose = Annotated[Text, AfterValidator(_not_blank), matching(rf"^[^\x00]*{_VISIBLE}[^\x00]*$")]
#: A shell command that runs inside a sandbox.
Command = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=10_000),
    AfterValidator(_without_nul),
    matching(rf"^[^\x00]*{_VISIBLE}[^\x00]*$"),
]
#: A search term.
Search = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=200),
    AfterValidator(_without_nul),
    matching(r"^[^\x00]*$"),
]
