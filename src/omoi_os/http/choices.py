"""Enums that requests may write in any case; answers use the canonical case."""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import partial
from typing import Annotated, Any, TypeVar, get_args

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

T = TypeVar("T")


class _InAnyCase:
    """Replaces a value by the member of its enum or literal that differs only in case."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        members: Iterable[Any] = source if isinstance(source, type) and issubclass(source, Enum) else get_args(source)
        canonical = {str(member).lower(): member for member in members}
        return core_schema.no_info_before_validator_function(partial(_in_canonical_case, canonical), handler(source))


def _in_canonical_case(canonical: Mapping[str, Any], value: object) -> object:
    """Return the member; leave anything else to the validator of the enum, which refuses it."""
    return canonical.get(value.lower(), value) if isinstance(value, str) else value


#: `AnyCase[Priority]` accepts `high`, `High` and `HIGH`, and is documented as `Priority`.
AnyCase = Annotated[T, _InAnyCase()]


def not_available(*values: str, instead: str) -> Callable[[object], object]:
    """Return a validator that refuses values which are reserved for a later version and names one to use instead."""

    def check(value: object) -> object:
        if isinstance(value, str) and value.lower() in values:
            raise ValueError(f"{value.lower()} is not available yet; leave it out to use {instead}")
        return value

    return check
