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
#: Times outside these years cannot be converted to every zone.
_FIRST_YEAR, _LAST_YEAR = 1970, 9998

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Maximum number of items on the page.")]
Cursor = Annotated[
    str | None,
    Query(
        max_length=MAX_CURSOR,
        description="`next_cursor` of the previous page, unchanged. Leave it out for the first page.",
    ),
]


class Page(Shown):
    """The fields that every page of a list has."""

    next_cursor: str | None = Field(
        None, description="Pass this as `cursor` to get the next page; null on the last page."
    )


def encode(kind: str, *key: object) -> str:
    """Return a cursor for one kind of list: the key of the last item on the page."""
    parts = [part.isoformat() if isinstance(part, datetime) else str(part) for part in key]
    return base64.urlsafe_b64encode(json.dumps([kind, *parts]).encode()).decode().rstrip("=")


def decode(kind: str, cursor: str, *readers: Callable[[str], Any]) -> tuple[Any, ...]:
    """Return the key in a cursor. Raise `Invalid` unless a list of this kind returned it."""
    try:
        found = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        name, *parts = found
        if name == kind and len(parts) == len(readers) and all(isinstance(part, str) for part in parts):
            return tuple(read(part) for read, part in zip(readers, parts, strict=True))
    except (binascii.Error, ValueError, TypeError, RecursionError, OverflowError):
        pass
    raise Invalid("cursor: must be a next_cursor that this list returned; leave it out to start at the first page")


def before_id(kind: str, cursor: str | None) -> UUID | None:
    """Return the id below which a page of rows, newest first, continues."""
    return decode(kind, cursor, UUID)[0] if cursor else None


def moment(text: str) -> datetime:
    """Read a time with its zone."""
    value = datetime.fromisoformat(text)
    if value.tzinfo is None or not _FIRST_YEAR <= value.year <= _LAST_YEAR:
        raise ValueError("no zone, or out of range")
    return value


def number(text: str) -> int:
    """Read a number that fits a database column."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError("not a number")
    value = int(text)
    if not 0 <= value < 2**63:
        raise ValueError("out of range")
    return value


def cut(rows: Sequence[T], limit: int, cursor_of: Callable[[T], str]) -> tuple[Sequence[T], str | None]:
    """Return the page of a query that fetched one row more than `limit`, and the cursor of the next page."""
    if len(rows) <= limit:
        return rows, None
    return rows[:limit], cursor_of(rows[limit - 1])


def plain(text: str) -> str:
    """Read text that the database can store."""
    # A lone surrogate cannot be encoded.
    if b"\x00" in text.encode():
        raise ValueError("not text")
    return text
