"""Sentences for validation errors: what is wrong with a value and what is allowed, in our words.

The validation library's own sentences never reach a caller. Values are repeated only where they are short and cannot be
text that a person wrote: choices, numbers, ids and times.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

#: Fields of the contract that this version does not have yet. Requests that name one are refused with this reason.
RESERVED = frozenset(
    {
        "model",
        "settings.approvals",
        "settings.egress_allow",
        "settings.egress_record",
        "settings.env",
        "settings.min_package_age_days",
        "settings.model",
        "settings.models_allowed",
        "settings.on_verified",
        "settings.protected_paths",
        "settings.registries",
        "settings.scope",
        "settings.setup",
    }
)
NOT_AVAILABLE = "is not available yet; leave it out"

_LONGEST_VALUE = 40
_MAX_DIGITS = 20
_QUOTED = re.compile(r"'([^']*)'")

Details = Mapping[str, Any]
Sentence = Callable[[Details, object], str]


def place_of(loc: Sequence[str | int]) -> str:
    """Return the path of a field below `body`, `query`, `path` or `header`; that itself for an error of the whole."""
    return ".".join(str(part) for part in loc[1:]) or str(loc[0])


def explain(error: Mapping[str, Any]) -> str:
    """Return what is wrong with a field and what is allowed, without the field's name.

    `error` is one item of pydantic's `errors()`, with its context and, where it may be repeated, its input.
    """
    kind, details = str(error["type"]), error.get("ctx") or {}
    if kind == "extra_forbidden" and place_of(error["loc"]) in RESERVED:
        return NOT_AVAILABLE
    if kind == "value_error":
        return str(details.get("error") or error["msg"]).removeprefix("Value error, ")
    sentence = SENTENCES.get(kind, _INVALID)
    try:
        return sentence(details, error.get("input", _UNKNOWN))
    except KeyError:
        # The context with the limit is missing.
        return _INVALID(details, _UNKNOWN)


_UNKNOWN = object()


def _got(value: object) -> str:
    """Return ` (got …)` for a value that is short enough to repeat; else nothing."""
    if isinstance(value, str):
        shown = value if len(value) <= _LONGEST_VALUE else f"{value[: _LONGEST_VALUE - 1]}…"
        return f" (got {shown!r})" if shown.isprintable() else ""
    if value is None or isinstance(value, bool):
        return f" (got {({None: 'null', True: 'true', False: 'false'})[value]})"
    if isinstance(value, int):
        return f" (got {value})" if abs(value) < 10**_MAX_DIGITS else f" (got more than {_MAX_DIGITS} digits)"
    if isinstance(value, float):
        return f" (got {value!r})"
    if isinstance(value, list | dict):
        return " (got a list)" if isinstance(value, list) else " (got an object)"
    return ""


def _is(text: str) -> Sentence:
    """Say the same whatever the value."""
    return lambda _details, _value: text


def _must_be(what: str) -> Sentence:
    """Say what the value must be, and what it is."""
    return lambda _details, value: f"must be {what}{_got(value)}"


def _compared(words: str, name: str) -> Sentence:
    """Say which limit a number exceeds. A number in a query is text, and shown without quotes."""

    def say(details: Details, value: object) -> str:
        limit = details[name]
        shown = int(limit) if isinstance(limit, float) and limit.is_integer() else limit
        return f"must be {words} {shown}{_got(value).replace(chr(39), '')}"

    return say


def _of_type(what: str) -> Sentence:
    """Say what the value must be; text is not repeated, because it may be anything."""
    return lambda _details, value: f"must be {what}{'' if isinstance(value, str) else _got(value)}"


def _choice(details: Details, value: object) -> str:
    allowed = _QUOTED.findall(str(details.get("expected") or details.get("expected_tags")))
    listed = ", ".join(allowed)
    return f"must be {listed if len(allowed) == 1 else f'one of {listed}'}{_got(value)}"


def _tag(details: Details, _value: object) -> str:
    return _choice(details, details.get("tag", _UNKNOWN))


def _too_short(details: Details, _value: object) -> str:
    least = details["min_length"]
    return "must not be empty" if least == 1 else f"must have at least {least} characters"


def _too_long(details: Details, value: object) -> str:
    length = f" (got {len(value)})" if isinstance(value, str) else ""
    return f"must have at most {details['max_length']} characters{length}"


def _few(details: Details, _value: object) -> str:
    return f"must have at least {details['min_length']} items (got {details['actual_length']})"


def _many(details: Details, _value: object) -> str:
    got = f" (got {details['actual_length']})" if details.get("actual_length") else ""
    return f"must have at most {details['max_length']} items{got}"


def _pattern(details: Details, _value: object) -> str:
    return f"must match the pattern {details['pattern']}"


_INVALID = _is("is not valid")
_WHOLE = _must_be("a whole number")
_NUMBER = _must_be("a number")
_BOOLEAN = _must_be("true or false")
_OBJECT = _of_type("an object")
_UUID = _must_be("a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057")
_TIME = _must_be("a time such as 2026-01-31T12:00:00Z")

#: The sentence for each type of error that a schema of ours can produce.
SENTENCES: Mapping[str, Sentence] = {
    "missing": _is("is required"),
    "extra_forbidden": _is("is not a known field"),
    "enum": _choice,
    "literal_error": _choice,
    "union_tag_invalid": _tag,
    "union_tag_not_found": _tag,
    "string_type": _of_type("a string"),
    "string_too_short": _too_short,
    "string_too_long": _too_long,
    "string_pattern_mismatch": _pattern,
    "string_unicode": _is("must be valid UTF-8"),
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_parsing_size": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": _NUMBER,
    "greater_than": _compared("greater than", "gt"),
    "greater_than_equal": _compared("at least", "ge"),
    "less_than": _compared("less than", "lt"),
    "less_than_equal": _compared("at most", "le"),
    "bool_type": _BOOLEAN,
    "bool_parsing": _BOOLEAN,
    "list_type": _of_type("a list"),
    "too_short": _few,
    "too_long": _many,
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "uuid_type": _UUID,
    "uuid_parsing": _UUID,
    "datetime_type": _TIME,
    "datetime_parsing": _TIME,
    "datetime_object_invalid": _TIME,
    "datetime_from_date_parsing": _TIME,
    "timezone_aware": _must_be("a time with its zone, such as 2026-01-31T12:00:00Z"),
}
