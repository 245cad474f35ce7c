"""Drafts: posted bodies read strictly and judged event by event, before anything is asked of the database."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from omoi_os.errors import Forbidden
from omoi_os.http.bodies import BadJson
from omoi_os.masking import Masker
from omoi_os.protocol.events import Event, EventSource
from omoi_os.sandboxes.ingest.events import Rejection, refusal
from omoi_os.sandboxes.schemas import MAX_BATCH_EVENTS, EventIn
from omoi_os.strict_json import elements, parse, scalar
from omoi_os.system.off_loop import LARGE, off_loop

#: The most that one event of a batch may be, as for an event that comes alone.
MAX_EVENT_BYTES = 1024 * 1024
#: How many events are judged before others have their turn.
_AT_ONCE = 32
_OUT_OF_RANGE = "number out of range"


@dataclass(frozen=True, slots=True)
class Draft:
    """One posted event without secrets, its data as text as well, or why it is not taken."""

    event: Event
    text: str = "{}"
    occurred_at: datetime | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """The events of one body in their order, and those that have neither sense nor number."""

    drafts: Sequence[Draft]
    unnumbered: Sequence[Rejection] = field(default=())

    @property
    def size(self) -> int:
        """How many there are in all."""
        return len(self.drafts) + len(self.unnumbered)


async def read_one(body: bytes, masker: Masker) -> Draft:
    """Read the event of a body. A large one is read beside the event loop.

    Raises `RequestValidationError` if it makes no sense, and `Forbidden` if it is not a sandbox's.
    """
    if len(body) > LARGE:
        return await off_loop(_read_one, body, masker)
    return _read_one(body, masker)


def _read_one(body: bytes, masker: Masker) -> Draft:
    try:
        posted = EventIn.model_validate(_read(body))
    except ValidationError as error:
        raise _invalid(error) from None
    event = posted.event()
    if reason := refusal(event):
        raise Forbidden(reason)
    try:
        data, text = masker.masked(event.event_data)
    except ValueError:
        raise _bad_json(_OUT_OF_RANGE) from None
    return Draft(replace(event, event_data=data), text, posted.occurred_at)


async def read_batch(body: bytes, masker: Masker) -> Batch:
    """Read the events of a body. One that cannot be read is not taken; the others are.

    A large body is read beside the event loop, and of a smaller one only so many events at once.
    """
    if len(body) > LARGE:
        return await off_loop(_read_batch, body, masker)
    items = _items(body)
    judged = judge(items[:_AT_ONCE], masker)
    for first in range(_AT_ONCE, len(items), _AT_ONCE):
        await asyncio.sleep(0)
        more = judge(items[first : first + _AT_ONCE], masker)
        judged = Batch([*judged.drafts, *more.drafts], [*judged.unnumbered, *more.unnumbered])
    return judged


def _read_batch(body: bytes, masker: Masker) -> Batch:
    return judge(_items(body), masker)


def _items(body: bytes) -> list[object]:
    """The events of a batch as they were sent. Raises `RequestValidationError` if it is no list, or too long."""
    try:
        value = parse(body, finite=False)
        items = value.get("events") if isinstance(value, dict) else None
    except ValueError as error:
        found = elements(body, "events")
        if found is None:
            raise _bad_json(str(error)) from None
        # Counted before any of them is read: each costs time.
        items = [_element(text) for text in found] if len(found) <= MAX_BATCH_EVENTS else None
    if not isinstance(items, list) or len(items) > MAX_BATCH_EVENTS:
        problem = f"must be a list of at most {MAX_BATCH_EVENTS} events"
        raise RequestValidationError([{"loc": ("body", "events"), "type": "list", "msg": problem}])
    return items


def judge(items: Iterable[object], masker: Masker) -> Batch:
    """What can be taken of these events, and what cannot with the reason."""
    drafts: list[Draft] = []
    unnumbered: list[Rejection] = []
    for item in items:
        draft = _draft(item, masker)
        if draft.reason is not None and draft.event.seq is None:
            unnumbered.append(Rejection(None, draft.reason))
        else:
            drafts.append(draft)
    return Batch(drafts, unnumbered)


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """An event of a batch that is not JSON; its number could be read."""

    seq: int | None
    reason: str


def _element(text: bytes) -> object:
    try:
        return parse(text)
    except ValueError as error:
        number = scalar(text, "seq") or b""
        seq = int(number) if number.isdigit() and len(number) < 19 else None
        return _Unreadable(seq or None, f"not valid JSON: {error}")


def _draft(item: object, masker: Masker) -> Draft:
    if isinstance(item, _Unreadable):
        return _refused(item.seq, item.reason)
    if not isinstance(item, dict):
        return _refused(None, "an event is an object with an event_type")
    try:
        posted = EventIn.model_validate(item)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        return _refused(_seq(item), f"{'.'.join(str(part) for part in first['loc']) or 'event'}: {first['msg']}")
    event = posted.event()
    try:
        data, text = masker.masked(event.event_data)
    except ValueError:
        return _refused(event.seq, f"event_data: {_OUT_OF_RANGE}")
    if len(text) > MAX_EVENT_BYTES:
        return _refused(_seq(item), f"event_data is larger than {MAX_EVENT_BYTES} bytes; put large values as blobs")
    return Draft(replace(event, event_data=data), text, posted.occurred_at, refusal(event))


def _refused(seq: int | None, reason: str) -> Draft:
    return Draft(Event("", {}, EventSource.WORKER, seq=seq), reason=reason)


def _seq(item: object) -> int | None:
    seq = item.get("seq") if isinstance(item, dict) else None
    return seq if isinstance(seq, int) and not isinstance(seq, bool) and 1 <= seq < 2**63 else None


def _read(body: bytes) -> object:
    try:
        return parse(body, finite=False)
    except ValueError as error:
        raise _bad_json(str(error)) from None


def _bad_json(reason: str) -> RequestValidationError:
    return RequestValidationError([{"loc": ("body",), "type": "json", "msg": "", "input": BadJson(reason)}])


def _invalid(error: ValidationError) -> RequestValidationError:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return RequestValidationError([{**item, "loc": ("body", *item["loc"])} for item in found])
