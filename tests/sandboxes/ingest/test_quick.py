"""One round trip for what is remembered: taken only where the row is as it was, whoever has changed it since."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import text

from omoi_os.bus.memory import MemoryBus
from omoi_os.db import pipeline as pipelines
from omoi_os.db.base import Sessions
from omoi_os.ids import token_hash
from omoi_os.masking import Masker
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.ingest import drafts, group, quick
from omoi_os.sandboxes.ingest.events import Recorded
from omoi_os.sandboxes.ingest.posts import Answer, Post, Sender, Standing
from omoi_os.sandboxes.ingest.quick import Memory
from tests.api_process import Reporter, make_reporters


class Desk:
    """What a writer does with one sandbox's posts, way by way."""

    def __init__(self, sessions: Sessions, reporter: Reporter) -> None:
        self._sessions, self._reporter = sessions, reporter
        self.memory = Memory()

    async def carefully(self, *events: dict[str, Any]) -> list[Any]:
        async with self._sessions() as session:
            pipeline, _ = await pipelines.on(await session.connection())
            made = await group.store(pipeline, MemoryBus(), self._posts(events), now=datetime.now(UTC), masker=Masker())
        for standing in made.standings:
            self.memory.keep(standing)
        return [answer for _, answer in made.answers]

    async def quickly(self, *events: dict[str, Any]) -> list[Any]:
        async with self._sessions() as session:
            pipeline, _ = await pipelines.on(await session.connection())
            answers = await quick.store(
                *(pipeline, MemoryBus(), self._posts(events)),
                now=datetime.now(UTC),
                masker=Masker(),
                memory=self.memory,
            )
        return [answer for _, answer in answers]

    async def stored(self) -> list[str]:
        async with self._sessions() as session:
            rows = await repository.list_events(session, self._reporter.id, order="asc", limit=100)
        assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
        return [str(row.event_data["n"]) for row in rows if "n" in row.event_data]

    def _posts(self, events: tuple[dict[str, Any], ...]) -> dict[str, list[Post]]:
        batch = drafts.judge([{"event_type": "agent.message"} | event for event in events], Masker())
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        return {
            self._reporter.id: [
                Post(self._reporter.id, token_hash(self._reporter.token), batch, False, Sender(1), answer)
            ]
        }


@pytest.fixture
async def reporter(sessions: Sessions) -> Reporter:
    return (await make_reporters(sessions, 1, at_work=True))[0]


@pytest.fixture
async def desk(sessions: Sessions, reporter: Reporter) -> Desk:
    made = Desk(sessions, reporter)
    await made.carefully(event(1))
    return made


def event(n: int, **fields: Any) -> dict[str, Any]:
    return {"seq": n, "event_data": {"n": n}} | fields


async def test_what_is_remembered_is_stored_at_once_again_and_again(desk: Desk, sessions: Sessions) -> None:
    answers = [*await desk.quickly(event(2), event(3)), *await desk.quickly(event(4))]

    assert answers == [Recorded(accepted=2, last_seq=3), Recorded(accepted=1, last_seq=4)]
    assert await desk.stored() == ["1", "2", "3", "4"]
    async with sessions() as session:
        counts, told = (
            await session.execute(
                text(
                    "SELECT event_counts ->> 'agent.message', (SELECT array_agg(last_seq ORDER BY id) FROM outbox"
                    " WHERE sandbox_id = s.id) FROM sandboxes s"
                )
            )
        ).one()
    assert counts == "4"
    assert told[-3:] == [2, 4, 5]


async def test_what_another_process_has_stored_meanwhile_is_not_overwritten(
    desk: Desk, sessions: Sessions, reporter: Reporter
) -> None:
    other = Desk(sessions, reporter)
    await other.carefully(event(2))

    assert await desk.quickly(event(2)) == []
    assert desk.memory.get(reporter.id) is None
    assert await desk.carefully(event(2), event(3)) == [Recorded(accepted=1, duplicates=1, last_seq=3)]
    assert await other.quickly(event(3)) == []
    assert await desk.quickly(event(4)) == [Recorded(accepted=1, last_seq=4)]
    assert await desk.stored() == ["1", "2", "3", "4"]


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
async def test_a_row_that_has_changed_is_left_to_the_careful_way(desk: Desk, sessions: Sessions, change: str) -> None:
    async with sessions.begin() as session:
        await session.execute(text(change))

    assert await desk.quickly(event(2)) == []
    assert await desk.stored() == ["1"]


async def test_who_is_held_by_another_is_not_waited_for(desk: Desk, sessions: Sessions, reporter: Reporter) -> None:
    async with sessions.begin() as session:
        await repository.lock(session, reporter.id)
        assert await desk.quickly(event(2)) == []
    await desk.carefully(event(2))
    async with sessions.begin() as session:
        await session.execute(text("SELECT FROM sandboxes FOR UPDATE"))
        assert await desk.quickly(event(3)) == []

    assert await desk.stored() == ["1", "2"]


async def test_an_id_that_is_stored_already_is_looked_at_more_closely(desk: Desk) -> None:
    assert await desk.quickly(event(2, event_id="x")) == [Recorded(accepted=1, last_seq=2)]

    assert await desk.quickly(event(3, event_id="x")) == []
    assert await desk.stored() == ["1", "2"]


async def test_what_changes_a_state_or_adds_nothing_is_left_to_the_careful_way(desk: Desk) -> None:
    assert await desk.quickly(event(2, event_type="agent.completed", event_data={"success": True})) == []
    assert await desk.quickly(event(1)) == []
    assert await desk.quickly(event(3)) == []
    # Positive control.
    assert await desk.quickly(event(2)) == [Recorded(accepted=1, last_seq=2)]


def test_only_the_last_are_remembered() -> None:
    memory = Memory(limit=2)
    for name in ("a", "b", "a", "c"):
        memory.keep(Standing(name, "token", 1, 1, 1, {}))

    assert [memory.get(name) is not None for name in ("a", "b", "c")] == [True, False, True]
