"""Parsing: read posted bodies strictly and judge each event, before anything is asked of the database."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from omoi_os.errors import Forbidden
from omoi_os.http.bodies import BadJson
from omoi_os.http.sentences import explain, place_of
from omoi_os.masking import Masker
from omoi_os.protocol.events import PLATFORM_PREFIXES, Event, EventSource
from omoi_os.sandboxes.ingest.numbering import REJECTED, Batch, JudgedEvent, Rejection
from omoi_os.sandboxes.schemas import MAX_BATCH_EVENTS, EventIn
from omoi_os.strict_json import elements, parse, scalar
from omoi_os.system.off_loop import LARGE, off_loop

#: The largest event in a batch; the same limit applies to an event that is sent alone.
MAX_EVENT_BYTES = 1024 * 1024
#: How many events are judged before other requests get their turn.
_AT_ONCE = 32
_OUT_OF_RANGE = "number out of range"


async def parse_one(body: bytes, masker: Masker) -> JudgedEvent:
    """Parse a body that holds one event. A large body is parsed in a thread.

    Raises `RequestValidationError` if it is not a valid event, and `Forbidden` if a sandbox may not post it.
    """
    if len(body) > LARGE:
        return await off_loop(_parse_one, body, masker)
    return _parse_one(body, masker)


async def parse_batch(body: bytes, masker: Masker) -> Batch:
    """Parse a body that holds a batch of events. An invalid event is rejected; the others are not affected.

    A large body is parsed in a thread, and a smaller one a few events at a time.

    Raises `RequestValidationError` if the body is not a batch.
    """
    if len(body) > LARGE:
        return await off_loop(_parse_batch, body, masker)
    items = _items(body)
    batch = judge(items[:_AT_ONCE], masker)
    for first in range(_AT_ONCE, len(items), _AT_ONCE):
        await asyncio.sleep(0)
        more = judge(items[first : first + _AT_ONCE], masker)
        batch = Batch([*batch.events, *more.events], [*batch.unnumbered, *more.unnumbered])
    return batch


def judge(items: Iterable[object], masker: Masker) -> Batch:
    """Validate and mask events that were parsed from JSON; an invalid one is rejected with the reason."""
    events: list[JudgedEvent] = []
    unnumbered: list[Rejection] = []
    for item in items:
        judged = _judge(item, masker)
        if judged.reason is not None and judged.event.seq is None:
            unnumbered.append(Rejection(None, judged.reason))
        else:
            events.append(judged)
    return Batch(events, unnumbered)


def judge_events(events: Sequence[Event], masker: Masker) -> Batch:
    """Judge events that did not come in a body as if they had been posted."""
    return judge([_as_posted(event) for event in events], masker)


def _parse_one(body: bytes, masker: Masker) -> JudgedEvent:
    try:
        posted = EventIn.model_validate(_parse_json(body))
    except ValidationError as error:
        raise _invalid(error) from None
    event = posted.event()
    if reason := _refusal(event):
        raise Forbidden(reason)
    try:
        data, text = masker.masked(event.event_data)
    except ValueError:
        raise _bad_json(_OUT_OF_RANGE) from None
    return JudgedEvent(replace(event, event_data=data), text, posted.occurred_at)


def _parse_batch(body: bytes, masker: Masker) -> Batch:
    return judge(_items(body), masker)


def _items(body: bytes) -> list[object]:
    """Return the events of a batch as they were sent."""
    try:
        value = parse(body, finite=False)
        items = value.get("events") if isinstance(value, dict) else None
    except ValueError as error:
        found = elements(body, "events")
        if found is None:
            raise _bad_json(str(error)) from None
        # Count them before parsing any: each takes time.
        items = [_element(text) for text in found] if len(found) <= MAX_BATCH_EVENTS else None
    if not isinstance(items, list) or len(items) > MAX_BATCH_EVENTS:
        problem = f"must be a list of at most {MAX_BATCH_EVENTS} events"
        raise RequestValidationError([{"loc": ("body", "events"), "type": "value_error", "msg": problem}])
    return items


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """An event of a batch that is not valid JSON, with its number if that could be read."""

    seq: int | None
    reason: str


def _element(text: bytes) -> object:
    try:
        return parse(text)
    except ValueError as error:
        number = scalar(text, "seq") or b""
        seq = int(number) if number.isdigit() and len(number) < 19 else None
        return _Unreadable(seq or None, f"not valid JSON: {error}")


def _judge(item: object, masker: Masker) -> JudgedEvent:
    if isinstance(item, _Unreadable):
        return _rejected(item.seq, item.reason, masker)
    if not isinstance(item, dict):
        return _rejected(None, "an event must be an object with an event_type", masker)
    try:
        posted = EventIn.model_validate(item)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = place_of(("event", *first["loc"]))
        return _rejected(_seq(item), f"{place}: {explain(first)}", masker)
    event = posted.event()
    if reason := _refusal(event):
        return _rejected(event.seq, reason, masker, event=event)
    try:
        data, text = masker.masked(event.event_data)
    except ValueError:
        return _rejected(event.seq, f"event_data: {_OUT_OF_RANGE}", masker)
    if len(text) > MAX_EVENT_BYTES:
        reason = f"event_data is larger than {MAX_EVENT_BYTES} bytes; store large values as blobs"
        return _rejected(event.seq, reason, masker)
    return JudgedEvent(replace(event, event_data=data), text, posted.occurred_at)


def _rejected(seq: int | None, reason: str, masker: Masker, *, event: Event | None = None) -> JudgedEvent:
    """Return the stub of a rejected event: its number, and the reason."""
    named = {"event_type": event.event_type[:100]} if event is not None else {}
    data, text = masker.masked({**named, "reason": reason})
    event_id = event.event_id if event is not None else None
    return JudgedEvent(Event(REJECTED, data, EventSource.WORKER, event_id, seq), text, reason=reason)


def _refusal(event: Event) -> str | None:
    """Return why a sandbox may not post this event, or None if it may."""
    if event.event_type.startswith(PLATFORM_PREFIXES) or event.event_type == REJECTED:
        return f"{event.event_type[:100]} events come from the platform only"
    if event.source not in (EventSource.AGENT, EventSource.WORKER):
        return f"source: must be agent or worker (got {event.source[:40]!r})"
    return None


def _seq(item: object) -> int | None:
    seq = item.get("seq") if isinstance(item, dict) else None
    return seq if isinstance(seq, int) and not isinstance(seq, bool) and 1 <= seq < 2**63 else None


def _as_posted(event: Event) -> object:
    """Return the event as a body would carry it; only the number of one that no body can carry."""
    try:
        return parse(json.dumps(event.to_json(), allow_nan=False).encode())
    except (ValueError, RecursionError):
        return {"seq": event.seq}


def _parse_json(body: bytes) -> object:
    try:
        return parse(body, finite=False)
    except ValueError as error:
        raise _bad_json(str(error)) from None


def _bad_json(reason: str) -> RequestValidationError:
    return RequestValidationError([{"loc": ("body",), "type": "json", "msg": "", "input": BadJson(reason)}])


def _invalid(error: ValidationError) -> RequestValidationError:
    found = error.errors(include_url=False, include_input=False)
    return RequestValidationError([{**item, "loc": ("body", *item["loc"])} for item in found])
