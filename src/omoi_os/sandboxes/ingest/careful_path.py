"""Careful path: one request in its own transaction, with everything that its events change.

It waits for the sandbox's row and looks up the stored events, so it can store whatever the fast path leaves over.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.base import Bus, Topic
from omoi_os.db.base import Sessions
from omoi_os.errors import StaleFence, UnknownSandboxToken
from omoi_os.masking import Masker
from omoi_os.protocol.events import Event, EventType
from omoi_os.sandboxes import repository, service
from omoi_os.sandboxes.ingest import event_log, parsing
from omoi_os.sandboxes.ingest.event_log import Answer, BatchResult, EventLog
from omoi_os.sandboxes.ingest.numbering import Batch, StoredEvent
from omoi_os.sandboxes.ingest.quota import MAX_EVENT_BYTES
from omoi_os.sandboxes.ingest.requests import EventRequest
from omoi_os.sandboxes.lifecycle import ENDED, Purpose
from omoi_os.sandboxes.messages import service as messages
from omoi_os.sandboxes.models import Sandbox
from omoi_os.stream.outbox import publish_events
from omoi_os.system import failpoint
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks import service as tasks

#: The types of events that change more than the log and the sandbox's own columns.
EFFECTS = frozenset(
    {
        EventType.AGENT_COMPLETED,
        EventType.AGENT_ERROR,
        EventType.AGENT_FAILED,
        EventType.AGENT_MESSAGE_INJECTED,
    }
)


@asynccontextmanager
async def transaction(sessions: Sessions) -> AsyncIterator[AsyncSession]:
    """Open a session that is committed at the end of the block, with the failpoints of a commit."""
    async with sessions.begin() as session:
        yield session
        await session.flush()
        failpoint.reach("before_commit")
    failpoint.reach("after_commit_before_ack")


async def store_request(
    session: AsyncSession, bus: Bus, request: EventRequest, *, now: datetime, max_bytes: int = MAX_EVENT_BYTES
) -> Answer:
    """Store the events of a request and return its answer, which is true once the session commits.

    Raises `BadToken` if the token is no longer the sandbox's, `StaleFence` if the sandbox has ended or was superseded,
    `TooMany` if its quota is used up; for an event that was sent alone also `BeyondGap` and `SeqTaken`.
    """
    sandbox = await repository.lock(session, request.sandbox_id)
    if sandbox.token_hash != request.token_hash:
        raise UnknownSandboxToken()
    return await _store(session, bus, sandbox, request.batch, alone=request.alone, now=now, max_bytes=max_bytes)


async def record_events(
    session: AsyncSession,
    bus: Bus,
    sandbox_id: str,
    events: Sequence[Event],
    *,
    now: datetime,
    masker: Masker,
    max_bytes: int = MAX_EVENT_BYTES,
) -> BatchResult:
    """Store events that were read from a spool. They are trusted no more than posted ones.

    Raises `StaleFence` if the sandbox has ended or was superseded, `TooMany` if its quota is used up.
    """
    batch = parsing.judge_events(events, masker)
    sandbox = await repository.lock(session, sandbox_id)
    result = await _store(session, bus, sandbox, batch, alone=False, now=now, max_bytes=max_bytes)
    assert isinstance(result, BatchResult)  # noqa: S101  only an event that was sent alone is answered otherwise
    return result


def ended(sandbox_id: str, reason: str | None) -> StaleFence:
    """Return the error for events of an ended sandbox."""
    return StaleFence(f"sandbox {sandbox_id} has ended ({reason}); its events are no longer stored")


async def _store(
    session: AsyncSession, bus: Bus, sandbox: Sandbox, batch: Batch, *, alone: bool, now: datetime, max_bytes: int
) -> Answer:
    if sandbox.status in ENDED:
        raise ended(sandbox.id, sandbox.end_reason)
    stored = await _stored_events(session, sandbox, batch)
    position = event_log.position_of(sandbox)
    log = EventLog(sandbox.id, position, now=now, max_bytes=max_bytes, stored=stored, complete=True)
    answer = log.answer(batch, alone=alone)
    event_log.write(session, sandbox, log)
    await _apply_effects(session, bus, sandbox, log, now=now)
    if log.added:
        first_seq, last_seq = position.last_seq + 1, sandbox.last_seq
        publish_events(
            session, project_id=sandbox.project_id, sandbox_id=sandbox.id, first_seq=first_seq, last_seq=last_seq
        )
        await bus.announce(session, Topic.STREAM, "")
    await session.flush()
    if log.added:
        failpoint.reach("after_insert")
    return answer


async def _stored_events(session: AsyncSession, sandbox: Sandbox, batch: Batch) -> list[StoredEvent]:
    """Return the stored events that have an id or a number of the batch."""
    events = [judged.event for judged in batch.events]
    ids = [event.event_id for event in events if event.event_id]
    seqs = [event.seq for event in events if event.seq is not None and event.seq <= sandbox.acked_seq]
    rows = list(await repository.events_with_ids(session, sandbox.id, ids)) if ids else []
    if seqs:
        rows += await repository.events_with_posted_seqs(session, sandbox, seqs)
    return [
        StoredEvent(row.seq, row.event_id, row.posted_seq, row.event_type, row.event_data, row.created_at)
        for row in rows
    ]


async def _apply_effects(session: AsyncSession, bus: Bus, sandbox: Sandbox, log: EventLog, *, now: datetime) -> None:
    """Apply what the accepted events change besides the log. An agent's report never completes a task."""
    if sandbox.purpose != Purpose.WORK:
        return
    reported = False
    for _, judged in log.added:
        # One event shows as well as many that the worker is alive; asking each time makes a large batch expensive.
        if judged.reason is None and (not reported or judged.event.event_type in EFFECTS):
            await _apply_effect(session, bus, sandbox, judged.event, now=now)
            reported = True


async def _apply_effect(session: AsyncSession, bus: Bus, sandbox: Sandbox, event: Event, *, now: datetime) -> None:
    await service.mark_running(session, bus, sandbox, now=now)
    task = await tasks_repository.lock(session, sandbox.task_id) if sandbox.task_id is not None else None
    if task is not None:
        if task.fence != sandbox.fence:
            raise StaleFence(f"sandbox {sandbox.id} was superseded by a newer attempt at its task")
        await tasks.worker_reported(session, bus, task, now=now)
    if event.event_type == EventType.AGENT_MESSAGE_INJECTED:
        await messages.mark_delivered(session, bus, sandbox, event.event_data.get("message_id"), now)
    if event.event_type == EventType.AGENT_ERROR and event.event_data.get("conversation_lost") is True:
        await messages.redeliver(session, bus, sandbox, now=now)
    if task is not None and event.event_type == EventType.AGENT_COMPLETED and event.event_data.get("success") is True:
        await tasks.agent_says_done(session, bus, task, final_output=_text(event.event_data.get("final_output")))
    if event.event_type == EventType.AGENT_FAILED:
        sandbox.failure = _text(event.event_data.get("error")) or "the worker gave no reason"


def _text(value: object) -> str:
    """Return text that any column takes: without NUL and lone surrogates, and bounded."""
    return str(value or "").replace("\0", "").encode(errors="replace").decode()[:20_000]
