"""The fast path stores nothing that it cannot be sure of: every other case is left to the careful path."""

from typing import Any

import pytest
from sqlalchemy import text

from omoi_os.db.base import Sessions
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.ingest.event_log import BatchResult, Position
from omoi_os.sandboxes.ingest.position_cache import PositionCache
from tests.api_process import Reporter, make_reporters
from tests.sandboxes.ingest.paths import CachedPath, LockedPath, make_request


class Process:
    """An API process that stores the events of one sandbox."""

    def __init__(self, sessions: Sessions, reporter: Reporter) -> None:
        self._sessions, self._reporter = sessions, reporter
        self._locked, self._cached = LockedPath(sessions), CachedPath(sessions)
        self._cached.cache = self._locked.cache

    @property
    def cache(self) -> PositionCache:
        return self._locked.cache

    async def store_locked(self, *events: dict[str, Any]) -> list[Any]:
        return [answer for _, answer in await self._locked.store_fast(make_request(self._reporter, *events))]

    async def store_cached(self, *events: dict[str, Any]) -> list[Any]:
        return [answer for _, answer in await self._cached.store_fast(make_request(self._reporter, *events))]

    async def stored(self) -> list[str]:
        async with self._sessions() as session:
            rows = await repository.list_events(session, self._reporter.id, order="asc", limit=100)
        assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
        return [str(row.event_data["n"]) for row in rows if "n" in row.event_data]


@pytest.fixture
async def reporter(sessions: Sessions) -> Reporter:
    return (await make_reporters(sessions, 1, at_work=True))[0]


@pytest.fixture
async def process(sessions: Sessions, reporter: Reporter) -> Process:
    """A process that has stored the first event."""
    made = Process(sessions, reporter)
    await made.store_locked(event(1))
    return made


def event(n: int, **fields: Any) -> dict[str, Any]:
    return {"seq": n, "event_data": {"n": n}} | fields


async def test_a_cached_position_is_good_again_and_again(process: Process, sessions: Sessions) -> None:
    answers = [*await process.store_cached(event(2), event(3)), *await process.store_cached(event(4))]

    assert answers == [BatchResult(accepted=2, last_seq=3), BatchResult(accepted=1, last_seq=4)]
    assert await process.stored() == ["1", "2", "3", "4"]
    async with sessions() as session:
        counts, published = (
            await session.execute(
                text(
                    "SELECT event_counts ->> 'agent.message', (SELECT array_agg(last_seq ORDER BY id) FROM outbox"
                    " WHERE sandbox_id = s.id) FROM sandboxes s"
                )
            )
        ).one()
    assert counts == "4"
    assert published[-3:] == [2, 4, 5]


async def test_events_of_another_process_are_not_overwritten(
    process: Process, sessions: Sessions, reporter: Reporter
) -> None:
    other = Process(sessions, reporter)
    await other.store_locked(event(2))

    assert await process.store_cached(event(2)) == []
    assert process.cache.get(reporter.id) is None
    assert await process.store_locked(event(3)) == [BatchResult(accepted=1, last_seq=3)]
    assert await other.store_cached(event(3)) == []
    assert await process.store_cached(event(4)) == [BatchResult(accepted=1, last_seq=4)]
    assert await process.stored() == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE sandboxes SET status = 'stopped'",
        "UPDATE sandboxes SET token_hash = 'another'",
        "UPDATE sandboxes SET fence = fence + 1",
        "UPDATE sandboxes SET acked_seq = acked_seq + 1",
        "UPDATE tasks SET fence = fence + 1",
        "UPDATE tasks SET status = 'assigned'",
    ],
)
async def test_nothing_is_stored_at_a_cached_position_that_is_out_of_date(
    process: Process, sessions: Sessions, change: str
) -> None:
    async with sessions.begin() as session:
        await session.execute(text(change))

    assert await process.store_cached(event(2)) == []
    assert await process.stored() == ["1"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE tasks SET fence = fence + 1",
        "UPDATE tasks SET status = 'assigned'",
        "UPDATE sandboxes SET status = 'creating'",
    ],
)
async def test_an_event_that_changes_a_state_is_left_to_the_careful_path(
    process: Process, sessions: Sessions, change: str
) -> None:
    async with sessions.begin() as session:
        await session.execute(text(change))

    assert await process.store_locked(event(2)) == []
    assert await process.stored() == ["1"]


async def test_a_locked_sandbox_is_not_waited_for(process: Process, sessions: Sessions, reporter: Reporter) -> None:
    async with sessions.begin() as session:
        await repository.lock(session, reporter.id)
        assert await process.store_cached(event(2)) == []
        assert await process.store_locked(event(2)) == []
    await process.store_locked(event(2))
    async with sessions.begin() as session:
        await session.execute(text("SELECT FROM sandboxes FOR UPDATE"))
        assert await process.store_cached(event(3)) == []
        assert await process.store_locked(event(3)) == []

    assert await process.stored() == ["1", "2"]


async def test_repeated_ids_and_numbers_are_left_to_the_careful_path(process: Process) -> None:
    assert await process.store_cached(event(2, event_id="x")) == [BatchResult(accepted=1, last_seq=2)]

    for repeated in (event(3, event_id="x"), event(2), event(1)):
        assert await process.store_cached(repeated, event(3)) == []
        assert await process.store_locked(repeated, event(3)) == []
    assert await process.stored() == ["1", "2"]


async def test_effects_are_left_to_the_careful_path_and_gaps_to_the_locked_row(process: Process) -> None:
    completed = event(2, event_type="agent.completed", event_data={"success": True})
    assert await process.store_cached(completed) == []
    assert await process.store_locked(completed) == []
    assert await process.store_cached(event(3)) == []
    assert await process.store_locked(event(3)) == [BatchResult(last_seq=1, beyond_gap=1)]
    # Positive control.
    assert await process.store_cached(event(2)) == [BatchResult(accepted=1, last_seq=2)]


def test_the_cache_keeps_the_positions_that_were_used_last() -> None:
    cache = PositionCache(limit=2)
    for name in ("a", "b", "a", "c"):
        cache.put(name, Position("token", 1, 1, 1, {}))

    assert [cache.get(name) is not None for name in ("a", "b", "c")] == [True, False, True]
