"""Keyset paging: opaque, URL-safe cursors and the page around a list."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

from fastapi import Query
from pydantic import Field

from omoi_os.errors import Invalid
from omoi_os.http.shapes import Shown

T = TypeVar("T")

MAX_LIMIT = 500
MAX_CURSOR = 300
#: Times beyond these cannot be brought to another zone.
_FIRST_YEAR, _LAST_YEAR = 1970, 9998

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="How many items at most.")]
Cursor = Annotated[
    str | None,
    Query(
        max_length=MAX_CURSOR,
        description="`next_cursor` of the page before, unchanged; left out for the first. Anything else answers 422.",
    ),
]


class Page(Shown):
    """The part of a page that every list shares."""

    next_cursor: str | None = Field(None, description="Asks for the next page; null on the last one.")


def encode(kind: str, *key: object) -> str:
    """A cursor for one kind of list: the key of the last item that was sent."""
    parts = [part.isoformat() if isinstance(part, datetime) else str(part) for part in key]
    return base64.urlsafe_b64encode(json.dumps([kind, *parts]).encode()).decode().rstrip("=")


def decode(kind: str, cursor: str, *readers: Callable[[str], Any]) -> tuple[Any, ...]:
    """The key in a cursor; `Invalid` for anything this kind of list has not handed out."""
    try:
        found = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        name, *parts = found
        if name == kind and len(parts) == len(readers) and all(isinstance(part, str) for part in parts):
            return tuple(read(part) for read, part in zip(readers, parts, strict=True))
    except (binascii.Error, ValueError, TypeError, RecursionError, OverflowError):
        pass
    raise Invalid("cursor: not one that this list has handed out; leave it out to begin again")


def before_id(kind: str, cursor: str | None) -> UUID | None:
    """The id that a page of rows, newest first, goes on below."""
    return decode(kind, cursor, UUID)[0] if cursor else None


def moment(text: str) -> datetime:
    """A time with its zone."""
    value = datetime.fromisoformat(text)
    if value.tzinfo is None or not _FIRST_YEAR <= value.year <= _LAST_YEAR:
        raise ValueError("no zone, or out of range")
    return value


def number(text: str) -> int:
    """A number that fits the database's."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError("not a number")
    value = int(text)
    if not 0 <= value < 2**63:
        raise ValueError("out of range")
    return value


def cut(rows: Sequence[T], limit: int, cursor_of: Callable[[T], str]) -> tuple[Sequence[T], str | None]:
    """The page of a query that asked for one row more, and the cursor of the next page."""
    if len(rows) <= limit:
        return rows, None
    return rows[:limit], cursor_of(rows[limit - 1])


def plain(text: str) -> str:
    """Text that the database takes."""
    # A lone surrogate cannot be encoded.
    if b"\x00" in text.encode():
        raise ValueError("not text")
    return text
