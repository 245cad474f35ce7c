"""The two hot routes: posting events, and their description for FastAPI."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from omoi_os.audit.trail import Trail
from omoi_os.bus.base import Bus
from omoi_os.db.base import Sessions
from omoi_os.db.clock import Clock
from omoi_os.errors import BadToken, BeyondGap, OmoiError, SeqTaken, StaleFence, TooMany
from omoi_os.http import wire
from omoi_os.http.limits import BATCH_LIMIT, DEFAULT_LIMIT, refusal
from omoi_os.http.problems import BodyTooLarge, answer_for
from omoi_os.http.routers import make_router
from omoi_os.masking import Masker
from omoi_os.sandboxes.deps import CallingSandbox
from omoi_os.sandboxes.ingest import drafts, gaps, resent
from omoi_os.sandboxes.ingest.drafts import Batch
from omoi_os.sandboxes.ingest.events import Recorded
from omoi_os.sandboxes.ingest.gaps import Gaps
from omoi_os.sandboxes.ingest.memory_budget import Place, Room
from omoi_os.sandboxes.ingest.posts import Answer, Received, Sender, SenderGone
from omoi_os.sandboxes.ingest.quota import MAX_EVENT_BYTES, UNIT_BYTES, Quota
from omoi_os.sandboxes.ingest.tokens import Callers
from omoi_os.sandboxes.ingest.writer import Writer
from omoi_os.sandboxes.schemas import BatchReceived, EventBatch, EventIn, EventReceived


@dataclass(frozen=True, slots=True)
class Intake:
    """What takes events in, once for each process."""

    writer: Writer
    callers: Callers
    quota: Quota
    masker: Masker
    sessions: Sessions
    trail: Trail
    gaps: Gaps
    room: Room = field(default_factory=Room)


def make_intake(
    sessions: Sessions, bus: Bus, masker: Masker, trail: Trail, clock: Clock, *, max_event_bytes: int = MAX_EVENT_BYTES
) -> Intake:
    """The intake over a migrated database."""
    writer = Writer(sessions, bus, masker, clock, max_event_bytes=max_event_bytes)
    callers = Callers(sessions, trail)
    return Intake(writer, callers, Quota(), masker, sessions, trail, Gaps(sessions))


#: A batch of more events than this is long: so many of it go into one commit, and others come in between.
LONG, PIECE = 100, 25

_PLACE = re.compile(r"/api/v1/sandboxes/([^/]+)/events(/batch)?")

router = make_router(
    "/sandboxes/{sandbox_id}", tags=["workers"], refusals=(401, 403, 404, 409, 413, 415, 422, 429, 503)
)


def is_event_post(scope: Scope) -> bool:
    """Whether a request posts events."""
    return scope["type"] == "http" and scope["method"] == "POST" and _PLACE.fullmatch(scope["path"]) is not None


class EventRoutes:
    """Takes posted events in. FastAPI's routes at the same places only describe it."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Store what is posted and answer it."""
        place = _PLACE.fullmatch(scope["path"])
        assert place is not None  # noqa: S101  others do not come here
        sandbox_id, batch = place.groups()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        limit = DEFAULT_LIMIT if batch is None else BATCH_LIMIT
        refused = refusal(headers, limit)
        if refused is not None:
            await refused(scope, receive, send)
            return
        try:
            posted = _Body(receive, limit, wire.gone(scope))
            body = await self._take(headers, posted, sandbox_id, alone=batch is None)
        except (ClientDisconnect, SenderGone):
            return
        except (OmoiError, HTTPException, RequestValidationError, SQLAlchemyError, OSError) as error:
            response = await answer_for(scope["app"], error)
            if isinstance(error, TooMany) and not await self._intake.quota.hold(sandbox_id):
                response.headers["Connection"] = "close"
            await response(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": _headers(body)})
        await send({"type": "http.response.body", "body": body})

    async def _take(self, headers: Mapping[bytes, bytes], posted: "_Body", sandbox_id: str, *, alone: bool) -> bytes:
        """Who calls is decided before the body is read, and what they may send before it is looked at."""
        intake = self._intake
        hashed = await intake.callers.identify(headers.get(b"authorization", b""), sandbox_id)
        intake.quota.check(sandbox_id)
        with intake.room.place(sandbox_id) as place:
            body = await posted.read(place)
            # Charged before the body is looked at: bad ones cost the most.
            units = 1 + len(body) // UNIT_BYTES
            intake.quota.charge(sandbox_id, units)
            batch = await _drafts(body, headers.get(b"content-type", b""), intake.masker, alone=alone)
            place.take_events(len(batch.drafts))
            if len(batch.drafts) > units:
                intake.quota.charge(sandbox_id, len(batch.drafts) - units)
            sender = Sender(len(body), posted.gone)
            # What it says is held from here on, and that is enough.
            del body
            return _encode(await _store(intake, sandbox_id, hashed, batch, alone=alone, sender=sender), sandbox_id)


@dataclass(frozen=True, slots=True)
class _Body:
    """What is still to be read, up to a limit."""

    receive: Receive
    limit: int
    gone: Callable[[], bool]

    async def read(self, place: Place) -> bytes:
        """All of it. `BodyTooLarge` as soon as it is, `ClientDisconnect` when the rest does not come."""
        message = await self.receive()
        body: bytes | bytearray = message.get("body", b"")
        place.take_body(len(body))
        if message.get("more_body", False):
            body = bytearray(body)
        while message.get("more_body", False) and len(body) <= self.limit:
            message = await self.receive()
            part = message.get("body", b"")
            place.take_body(len(part))
            body += part
        if message["type"] == "http.disconnect" or self.gone():
            raise ClientDisconnect
        if len(body) > self.limit:
            raise BodyTooLarge(self.limit)
        return bytes(body)


@router.post("/events", summary="Report one event")
async def post_event(sandbox: CallingSandbox, body: EventIn) -> EventReceived:  # type: ignore[empty-body]
    """Store one event. The same `event_id` twice is stored once and answered alike.

    `system`, `sandbox.*` and `task.*` come from the platform only (403). A `seq` beyond a gap is not stored (409).
    """


@router.post("/events/batch", summary="Report events")
async def post_events(sandbox: CallingSandbox, body: EventBatch) -> BatchReceived:  # type: ignore[empty-body]
    """Store what the worker has spooled. It may forget everything up to `last_seq` and resends the rest."""


async def _store(intake: Intake, sandbox_id: str, hashed: str, batch: Batch, *, alone: bool, sender: Sender) -> Answer:
    """The answer once it is true, with what it tells about the sender written down."""
    try:
        if len(batch.drafts) > LONG:
            answer: Answer = await _store_by_pieces(intake, sandbox_id, hashed, batch, sender=sender)
        else:
            await intake.quota.pace(sandbox_id, len(batch.drafts))
            answer = await intake.writer.submit(sandbox_id, hashed, batch, alone=alone, sender=sender)
    except (BadToken, StaleFence):
        intake.callers.forget(hashed)
        raise
    except SeqTaken as error:
        await intake.trail.record(resent.changed_event(sandbox_id, str(error)))
        raise
    except BeyondGap as error:
        await intake.gaps.note(sandbox_id, error.acked_seq)
        raise
    if isinstance(answer, Recorded):
        if gaps.leaves_one(batch.size, answer):
            await intake.gaps.note(sandbox_id, answer.last_seq)
        if answer.duplicates:
            answer = await _without_changed(intake, sandbox_id, batch, answer)
    return answer


async def _store_by_pieces(intake: Intake, sandbox_id: str, hashed: str, batch: Batch, *, sender: Sender) -> Recorded:
    """A long batch, answered as one. Where a piece fails all is sent again; a number is stored once."""
    whole = Recorded()
    for first in range(0, len(batch.drafts), PIECE):
        piece = Batch(batch.drafts[first : first + PIECE])
        await intake.quota.pace(sandbox_id, len(piece.drafts))
        stored = await intake.writer.submit(sandbox_id, hashed, piece, alone=False, sender=sender)
        assert isinstance(stored, Recorded)  # noqa: S101  only an event that came alone is answered otherwise
        whole.accepted += stored.accepted
        whole.duplicates += stored.duplicates
        whole.rejected += stored.rejected
        whole.last_seq = stored.last_seq
    whole.rejected += batch.unnumbered
    return whole


async def _without_changed(intake: Intake, sandbox_id: str, batch: Batch, answer: Recorded) -> Recorded:
    """The answer with those duplicates that are none named as rejected. Only what was sent again is looked up."""
    async with intake.sessions() as session:
        changed = await resent.changed(session, sandbox_id, batch)
    if not changed:
        return answer
    await intake.trail.record(resent.changed_event(sandbox_id, changed[0].reason))
    return replace(answer, duplicates=max(0, answer.duplicates - len(changed)), rejected=[*answer.rejected, *changed])


async def _drafts(body: bytes, content_type: bytes, masker: Masker, *, alone: bool) -> Batch:
    if content_type != b"application/json" and content_type.partition(b";")[0].strip().lower() != b"application/json":
        raise RequestValidationError([{"loc": ("body",), "type": "model_attributes_type", "msg": ""}])
    return Batch([await drafts.read_one(body, masker)]) if alone else await drafts.read_batch(body, masker)


def _encode(answer: Answer, sandbox_id: str) -> bytes:
    return msgspec.json.encode(_received(answer, sandbox_id) if isinstance(answer, Received) else _recorded(answer))


def _received(answer: Received, sandbox_id: str) -> dict[str, Any]:
    return {
        "status": "received",
        "sandbox_id": sandbox_id,
        "event_type": answer.event_type,
        "event_id": answer.event_id,
        "seq": answer.seq,
        "timestamp": answer.at.isoformat().replace("+00:00", "Z"),
    }


def _recorded(answer: Recorded) -> dict[str, Any]:
    return {
        "accepted": answer.accepted,
        "duplicates": answer.duplicates,
        "rejected": [{"seq": rejection.seq, "reason": rejection.reason} for rejection in answer.rejected],
        "last_seq": answer.last_seq,
    }


def _headers(body: bytes) -> list[tuple[bytes, bytes]]:
    return [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
