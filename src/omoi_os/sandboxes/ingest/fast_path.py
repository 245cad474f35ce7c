"""Fast path: one commit for the requests of many sandboxes, as long as their events change no state.

`store_cached` needs one round trip: it numbers events by cached positions, and stores those of the sandboxes whose
rows still are at that position. `store_locked` needs two: it locks and reads the rows first. Neither waits for a lock.
A sandbox that a path does not answer is left to the next one, and at last to the careful path.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from omoi_os.bus.base import Bus, Notice, Topic
from omoi_os.db.pipeline import BEGIN, COMMIT, PLAN_ONCE, ROLLBACK, Pipeline, Row, array, text_array
from omoi_os.errors import OmoiError, UnknownSandboxToken
from omoi_os.sandboxes.ingest import statements
from omoi_os.sandboxes.ingest.careful_path import EFFECTS, ended
from omoi_os.sandboxes.ingest.event_log import Answer, EventLog, LookupNeeded, Position
from omoi_os.sandboxes.ingest.position_cache import PositionCache
from omoi_os.sandboxes.ingest.quota import MAX_EVENT_BYTES
from omoi_os.sandboxes.ingest.requests import Answers, EventRequest
from omoi_os.sandboxes.lifecycle import ENDED
from omoi_os.stream.models import Change
from omoi_os.system import failpoint

#: The requests of a commit by their sandboxes, each sandbox's in the order in which they came.
Requests = Mapping[str, Sequence[EventRequest]]


@dataclass(slots=True)
class Outcome:
    """The answers of a commit, which are true now, and the sandboxes whose requests the careful path must store."""

    answers: Answers = field(default_factory=list)
    left_over: set[str] = field(default_factory=set)


async def store_cached(
    pipeline: Pipeline,
    bus: Bus,
    requests: Requests,
    cache: PositionCache,
    *,
    now: datetime,
    max_bytes: int = MAX_EVENT_BYTES,
) -> Answers:
    """Store the requests of the sandboxes that are at their cached position; only those are answered."""
    numbered: dict[str, tuple[EventLog, Answers]] = {}
    for sandbox_id, some in requests.items():
        position = cache.get(sandbox_id)
        if position is None or has_effect(some):
            continue
        log = EventLog(sandbox_id, position, now=now, max_bytes=max_bytes)
        answers = _number(log, some)
        if answers is not None and log.added:
            numbered[sandbox_id] = log, answers
    if not numbered:
        return []
    notice = bus.notice(Topic.STREAM, "")
    pipeline.send(BEGIN)
    pipeline.send(PLAN_ONCE)
    posted = [request for sandbox_id in numbered for request in requests[sandbox_id]]
    _send_cached(pipeline, [log for log, _ in numbered.values()], posted, notice, now=now)
    try:
        stored = await _commit_cached(pipeline)
    except BaseException:
        for sandbox_id in numbered:
            cache.drop(sandbox_id)
        raise
    if stored and notice.committed is not None:
        notice.committed()
    found: Answers = []
    for sandbox_id, (log, answers) in numbered.items():
        if sandbox_id in stored:
            cache.put(sandbox_id, log.position)
            found += answers
        else:
            cache.drop(sandbox_id)
    return found


async def store_locked(
    pipeline: Pipeline,
    bus: Bus,
    requests: Requests,
    cache: PositionCache,
    *,
    now: datetime,
    max_bytes: int = MAX_EVENT_BYTES,
) -> Outcome:
    """Store the requests of the sandboxes whose rows nobody else has locked."""
    outcome, logs = await _lock_and_number(pipeline, requests, now=now, max_bytes=max_bytes)
    if not logs:
        pipeline.send(ROLLBACK)
        await pipeline.results(last=True)
        return outcome
    notice = bus.notice(Topic.STREAM, "")
    pipeline.send(statements.INSERT, *statements.event_columns(logs), now.isoformat())
    await _reach(pipeline, "after_insert")
    pipeline.send(
        statements.UPDATE,
        text_array([log.sandbox_id for log in logs]),
        array([log.before.last_seq + 1 for log in logs]),
        *statements.new_positions(logs),
        Change.SANDBOX_EVENT.value,
        notice.channel,
        notice.payload,
    )
    await _reach(pipeline, "before_commit")
    pipeline.send(COMMIT)
    await pipeline.results(last=True)
    failpoint.reach("after_commit_before_ack")
    if notice.committed is not None:
        notice.committed()
    for log in logs:
        cache.put(log.sandbox_id, log.position)
    return outcome


def has_effect(requests: Sequence[EventRequest]) -> bool:
    """Tell whether an event changes more than the log and its sandbox's own columns."""
    return any(judged.event.event_type in EFFECTS for request in requests for judged in request.batch.events)


def _number(log: EventLog, requests: Sequence[EventRequest]) -> Answers | None:
    """Add the events of a sandbox's requests to its log; None if that needs the stored events."""
    try:
        return [(request, _answer(log, request)) for request in requests]
    except LookupNeeded:
        return None


def _answer(log: EventLog, request: EventRequest) -> Answer | OmoiError:
    if request.token_hash != log.before.token_hash:
        return UnknownSandboxToken()
    try:
        return log.answer(request.batch, alone=request.alone)
    except OmoiError as error:
        return error


async def _lock_and_number(
    pipeline: Pipeline, requests: Requests, *, now: datetime, max_bytes: int
) -> tuple[Outcome, list[EventLog]]:
    ids, names = statements.event_ids(request for some in requests.values() for request in some)
    pipeline.send(BEGIN)
    pipeline.send(PLAN_ONCE)
    pipeline.send(statements.LOCK, text_array(sorted(requests)))
    if ids:
        pipeline.send(statements.SELECT_KNOWN, ids, names)
    _, _, rows, *known = await pipeline.results(last=False)
    locked = {str(row[0]): row for row in rows}
    repeated = {str(row[0]) for found in known for row in found}
    outcome = Outcome(left_over=set(requests) - set(locked) | repeated)
    logs: list[EventLog] = []
    for sandbox_id, row in locked.items():
        some = requests[sandbox_id]
        status, end_reason, changes_state = row[2], row[3], row[9]
        if sandbox_id in repeated:
            continue
        if status in ENDED:
            outcome.answers += [(request, ended(sandbox_id, end_reason)) for request in some]
            continue
        log = EventLog(sandbox_id, _position(row), now=now, max_bytes=max_bytes)
        answers = None if changes_state == "t" or has_effect(some) else _number(log, some)
        if answers is None:
            outcome.left_over.add(sandbox_id)
            continue
        outcome.answers += answers
        if log.added:
            logs.append(log)
    return outcome, logs


def _position(row: Row) -> Position:
    _, token_hash, _, _, fence, last_seq, acked_seq, counts, size, _ = row
    event_counts = msgspec.json.decode(counts or "{}", type=dict[str, int])
    return Position(
        str(token_hash), int(fence or 0), int(last_seq or 0), int(acked_seq or 0), event_counts, int(size or 0)
    )


def _send_cached(
    pipeline: Pipeline,
    logs: Sequence[EventLog],
    requests: Sequence[EventRequest],
    notice: Notice,
    *,
    now: datetime,
) -> None:
    pipeline.send(
        statements.STORE_CACHED,
        text_array([log.sandbox_id for log in logs]),
        text_array([log.before.token_hash for log in logs]),
        array([log.before.fence for log in logs]),
        array([log.before.last_seq for log in logs]),
        array([log.before.acked_seq for log in logs]),
        *statements.new_positions(logs),
        *statements.event_ids(requests),
        text_array(sorted(ENDED)),
        *statements.event_columns(logs),
        now.isoformat(),
        Change.SANDBOX_EVENT.value,
        notice.channel,
        notice.payload,
    )


async def _commit_cached(pipeline: Pipeline) -> set[str]:
    """Commit and return the sandboxes whose events were stored."""
    stored: set[str] = set()
    if failpoint.ARMED:
        # One statement inserts and updates, so both failpoints are behind it.
        _, _, rows = await pipeline.results(last=False)
        stored = {str(row[0]) for row in rows}
        if stored:
            failpoint.reach("after_insert")
            failpoint.reach("before_commit")
    pipeline.send(COMMIT)
    results = await pipeline.results(last=True)
    if not failpoint.ARMED:
        stored = {str(row[0]) for row in results[2]}
    if stored:
        failpoint.reach("after_commit_before_ack")
    return stored


async def _reach(pipeline: Pipeline, name: str) -> None:
    """Reach a failpoint once everything sent before it has been executed."""
    if failpoint.ARMED:
        await pipeline.results(last=False)
        failpoint.reach(name)
