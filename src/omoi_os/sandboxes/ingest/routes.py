"""The two hot routes, which post events, and their descriptions for FastAPI."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from omoi_os.audit.models import AuditKind
from omoi_os.audit.trail import Entry, Trail
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
from omoi_os.sandboxes.ingest import parsing
from omoi_os.sandboxes.ingest.event_log import Answer, BatchResult
from omoi_os.sandboxes.ingest.gaps import Gaps
from omoi_os.sandboxes.ingest.memory_budget import MemoryBudget, Reservation
from omoi_os.sandboxes.ingest.numbering import Batch, StoredEvent
from omoi_os.sandboxes.ingest.quota import MAX_EVENT_BYTES, UNIT_BYTES, Quota
from omoi_os.sandboxes.ingest.requests import Sender, SenderGone
from omoi_os.sandboxes.ingest.tokens import TokenCache
from omoi_os.sandboxes.ingest.writer import Writer
from omoi_os.sandboxes.schemas import BatchReceived, EventBatch, EventIn, EventReceived


@dataclass(frozen=True, slots=True)
class Ingest:
    """The parts that receive and store events, one of each per process."""

    writer: Writer
    tokens: TokenCache
    quota: Quota
    masker: Masker
    trail: Trail
    gaps: Gaps
    budget: MemoryBudget = field(default_factory=MemoryBudget)


def make_ingest(
    sessions: Sessions, bus: Bus, masker: Masker, trail: Trail, clock: Clock, *, max_event_bytes: int = MAX_EVENT_BYTES
) -> Ingest:
    """Create the parts on a migrated database."""
    writer = Writer(sessions, bus, clock, max_event_bytes=max_event_bytes)
    return Ingest(writer, TokenCache(sessions, trail), Quota(), masker, trail, Gaps(sessions))


#: A batch of more than `LONG` events is stored in pieces, so that other requests are stored in between.
LONG, PIECE = 100, 25

_PATH = re.compile(r"/api/v1/sandboxes/([^/]+)/events(/batch)?")

router = make_router(
    "/sandboxes/{sandbox_id}", tags=["workers"], refusals=(401, 403, 404, 409, 413, 415, 422, 429, 503)
)


def is_event_post(scope: Scope) -> bool:
    """Tell whether a request posts events."""
    return scope["type"] == "http" and scope["method"] == "POST" and _PATH.fullmatch(scope["path"]) is not None


class EventRoutes:
    """Serves the requests that post events. FastAPI's routes at the same paths only describe them."""

    def __init__(self, ingest: Ingest) -> None:
        self._ingest = ingest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Store the posted events and answer."""
        path = _PATH.fullmatch(scope["path"])
        assert path is not None  # noqa: S101  `is_event_post` said so
        sandbox_id, batch = path.groups()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        limit = DEFAULT_LIMIT if batch is None else BATCH_LIMIT
        refused = refusal(headers, limit)
        if refused is not None:
            await refused(scope, receive, send)
            return
        try:
            posted = _Body(receive, limit, wire.gone(scope))
            body = await self._receive(headers, posted, sandbox_id, alone=batch is None)
        except (ClientDisconnect, SenderGone):
            return
        except (OmoiError, HTTPException, RequestValidationError, SQLAlchemyError, OSError) as error:
            response = await answer_for(scope["app"], error)
            if isinstance(error, TooMany) and not await self._ingest.quota.hold(sandbox_id):
                response.headers["Connection"] = "close"
            await response(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": _headers(body)})
        await send({"type": "http.response.body", "body": body})

    async def _receive(self, headers: Mapping[bytes, bytes], posted: "_Body", sandbox_id: str, *, alone: bool) -> bytes:
        """Authenticate the caller before the body is read, and check its quota before the body is parsed."""
        ingest = self._ingest
        hashed = await ingest.tokens.identify(headers.get(b"authorization", b""), sandbox_id)
        ingest.quota.check(sandbox_id)
        with ingest.budget.reserve(sandbox_id) as reservation:
            body = await posted.read(reservation)
            # Charge before parsing: invalid bodies cost the most.
            units = 1 + len(body) // UNIT_BYTES
            ingest.quota.charge(sandbox_id, units)
            batch = await _parse(body, headers.get(b"content-type", b""), ingest.masker, alone=alone)
            reservation.add_events(len(batch.events))
            if len(batch.events) > units:
                ingest.quota.charge(sandbox_id, len(batch.events) - units)
            sender = Sender(len(body), posted.gone)
            # The parsed events are enough from here on.
            del body
            return _encode(await _store(ingest, sandbox_id, hashed, batch, alone=alone, sender=sender), sandbox_id)


@dataclass(frozen=True, slots=True)
class _Body:
    """A body that is still to be read, up to a limit."""

    receive: Receive
    limit: int
    gone: Callable[[], bool]

    async def read(self, reservation: Reservation) -> bytes:
        """Return the whole body.

        Raises `BodyTooLarge` as soon as it is, and `ClientDisconnect` if the client does not send the rest.
        """
        message = await self.receive()
        body: bytes | bytearray = message.get("body", b"")
        reservation.add_body(len(body))
        if message.get("more_body", False):
            body = bytearray(body)
        while message.get("more_body", False) and len(body) <= self.limit:
            message = await self.receive()
            part = message.get("body", b"")
            reservation.add_body(len(part))
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
    """Store the events of a worker's spool. It may forget everything up to `last_seq` and resends the rest."""


async def _store(ingest: Ingest, sandbox_id: str, hashed: str, batch: Batch, *, alone: bool, sender: Sender) -> Answer:
    """Return the answer once it is true; record conflicts and gaps."""
    try:
        if len(batch.events) > LONG:
            answer: Answer = await _store_in_pieces(ingest, sandbox_id, hashed, batch, sender=sender)
        else:
            await ingest.quota.pace(sandbox_id, len(batch.events))
            answer = await ingest.writer.submit(sandbox_id, hashed, batch, alone=alone, sender=sender)
    except (BadToken, StaleFence):
        ingest.tokens.drop(hashed)
        raise
    except SeqTaken as error:
        await _record_conflict(ingest, sandbox_id, str(error))
        raise
    except BeyondGap as error:
        await ingest.gaps.record(sandbox_id, error.acked_seq)
        raise
    if isinstance(answer, BatchResult):
        if answer.beyond_gap:
            await ingest.gaps.record(sandbox_id, answer.last_seq)
        if answer.conflict is not None:
            await _record_conflict(ingest, sandbox_id, answer.conflict)
    return answer


async def _store_in_pieces(
    ingest: Ingest, sandbox_id: str, hashed: str, batch: Batch, *, sender: Sender
) -> BatchResult:
    """Store a long batch, answered as one. If a piece fails, the worker resends all; each event is stored once."""
    whole = BatchResult()
    for first in range(0, len(batch.events), PIECE):
        piece = Batch(batch.events[first : first + PIECE])
        await ingest.quota.pace(sandbox_id, len(piece.events))
        result = await ingest.writer.submit(sandbox_id, hashed, piece, alone=False, sender=sender)
        assert isinstance(result, BatchResult)  # noqa: S101  only an event that was sent alone is answered otherwise
        whole.add(result)
    whole.rejected += batch.unnumbered
    return whole


async def _record_conflict(ingest: Ingest, sandbox_id: str, detail: str) -> None:
    await ingest.trail.record(Entry(AuditKind.CHANGED_EVENT, sandbox_id, sandbox_id, detail))


async def _parse(body: bytes, content_type: bytes, masker: Masker, *, alone: bool) -> Batch:
    if content_type != b"application/json" and content_type.partition(b";")[0].strip().lower() != b"application/json":
        raise RequestValidationError([{"loc": ("body",), "type": "model_attributes_type", "msg": ""}])
    return Batch([await parsing.parse_one(body, masker)]) if alone else await parsing.parse_batch(body, masker)


def _encode(answer: Answer, sandbox_id: str) -> bytes:
    return msgspec.json.encode(_received(answer, sandbox_id) if isinstance(answer, StoredEvent) else _result(answer))


def _received(stored: StoredEvent, sandbox_id: str) -> dict[str, Any]:
    return {
        "status": "received",
        "sandbox_id": sandbox_id,
        "event_type": stored.event_type,
        "event_id": stored.event_id,
        "seq": stored.seq,
        "timestamp": stored.created_at.isoformat().replace("+00:00", "Z"),
    }


def _result(result: BatchResult) -> dict[str, Any]:
    return {
        "accepted": result.accepted,
        "duplicates": result.duplicates,
        "rejected": [{"seq": rejection.seq, "reason": rejection.reason} for rejection in result.rejected],
        "last_seq": result.last_seq,
    }


def _headers(body: bytes) -> list[tuple[bytes, bytes]]:
    return [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
