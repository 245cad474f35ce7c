"""The writer of an API process: one commit for many requests, in order and bounded; failures stay with their sender."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select, text

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.errors import DatabaseUnavailable, NotReady
from omoi_os.ids import token_hash
from omoi_os.masking import Masker
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.ingest import parsing, writer
from omoi_os.sandboxes.ingest.event_log import Answer, BatchResult
from omoi_os.sandboxes.ingest.requests import Sender, SenderGone
from omoi_os.sandboxes.ingest.writer import Writer
from omoi_os.sandboxes.models import Sandbox
from omoi_os.stream.models import Outbox
from tests.api_process import Reporter, make_reporters


def never() -> bool:
    return False


def post(
    made: Writer, reporter: Reporter, *events: dict[str, Any], gone: Callable[[], bool] = never
) -> "asyncio.Task[Answer]":
    batch = parsing.judge([{"event_type": "agent.message"} | event for event in events], Masker())
    work = made.submit(reporter.id, token_hash(reporter.token), batch, alone=False, sender=Sender(100, gone))
    return asyncio.create_task(work)


async def stored(sessions: Sessions, reporter: Reporter) -> list[str]:
    async with sessions() as session:
        rows = await repository.list_events(session, reporter.id, order="asc", limit=500)
    return [str(row.event_data.get("n", row.event_type)) for row in rows]


def a_writer(sessions: Sessions) -> Writer:
    return Writer(sessions, MemoryBus())


async def test_requests_that_arrive_during_a_commit_are_stored_by_the_next(sessions: Sessions) -> None:
    reporters = await make_reporters(sessions, 5, at_work=True)
    made = a_writer(sessions)

    await asyncio.gather(*(post(made, each, {"seq": n}) for n in range(1, 9) for each in reporters))

    async with sessions() as session:
        published = (await session.execute(select(Outbox).where(Outbox.first_seq > 1))).scalars().all()
    assert len({row.xid for row in published}) <= 3
    for each in reporters:
        assert [(row.first_seq, row.last_seq) for row in published if row.sandbox_id == each.id][-1][1] == 9


async def test_order_is_kept_when_a_request_in_between_changes_a_state(sessions: Sessions) -> None:
    (reporter,) = await make_reporters(sessions, 1)
    made = a_writer(sessions)
    kinds = ["agent.started", "agent.message", "agent.message", "agent.failed", "agent.message", "agent.message"]

    answers = [
        post(made, reporter, {"event_type": kind, "event_data": {"n": n}, "seq": n})
        for n, kind in enumerate(kinds, start=1)
    ]
    recorded = await asyncio.gather(*answers)

    assert await stored(sessions, reporter) == ["sandbox.created", "1", "2", "3", "4", "5", "6"]
    assert [answer.last_seq for answer in recorded if isinstance(answer, BatchResult)] == [1, 2, 3, 4, 5, 6]


async def test_a_failed_commit_affects_only_the_request_that_caused_it(sessions: Sessions) -> None:
    reporters = await make_reporters(sessions, 4, at_work=True)
    async with sessions.begin() as session:
        await session.execute(
            text(
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                " IF NEW.event_data::text LIKE '%poison%' THEN RAISE 'refused' USING ERRCODE = '22000'; END IF;"
                " RETURN NEW; END $$"
            )
        )
        await session.execute(
            text("CREATE TRIGGER refuse BEFORE INSERT ON sandbox_events FOR EACH ROW EXECUTE FUNCTION refuse()")
        )
    made = a_writer(sessions)

    posts = [post(made, each, {"event_data": {"n": 1}}, {"event_data": {"n": 2}}) for each in reporters[1:]]
    posts.insert(1, post(made, reporters[0], {"event_data": {"n": "poison"}}))
    outcomes = await asyncio.gather(*posts, return_exceptions=True)

    assert [isinstance(outcome, BatchResult) for outcome in outcomes] == [True, False, True, True]
    assert "refused" in str(outcomes[1])
    for each in reporters[1:]:
        assert await stored(sessions, each) == ["sandbox.created", "1", "2"]


async def test_a_connection_lost_in_a_commit_gives_no_false_answer(sessions: Sessions) -> None:
    reporters = await make_reporters(sessions, 3, at_work=True)
    async with sessions.begin() as session:
        await session.execute(
            text(
                "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                " PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$"
            )
        )
        await session.execute(text("CREATE TRIGGER cut BEFORE INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION cut()"))
    made = a_writer(sessions)

    lost = await asyncio.gather(
        *(post(made, each, {"seq": 1, "event_data": {"n": 1}}) for each in reporters), return_exceptions=True
    )
    async with sessions.begin() as session:
        await session.execute(text("DROP TRIGGER cut ON outbox"))
    nothing = [await stored(sessions, each) for each in reporters]
    again = await asyncio.gather(*(post(made, each, {"seq": 1, "event_data": {"n": 1}}) for each in reporters))

    assert [type(outcome) for outcome in lost] == [DatabaseUnavailable] * 3
    assert nothing == [["sandbox.created"]] * 3
    assert [answer.last_seq for answer in again if isinstance(answer, BatchResult)] == [1, 1, 1]
    assert [await stored(sessions, each) for each in reporters] == [["sandbox.created", "1"]] * 3


async def test_a_sandbox_whose_row_is_locked_delays_no_other(sessions: Sessions) -> None:
    held, free = await make_reporters(sessions, 2, at_work=True)
    made = a_writer(sessions)
    async with sessions() as session:
        await repository.lock(session, held.id)
        waiting = post(made, held, {"event_data": {"n": 1}})
        async with asyncio.timeout(60):
            await asyncio.gather(*(post(made, free, {"event_data": {"n": n}}) for n in range(3)))
        assert not waiting.done()
        await session.commit()
    await waiting

    assert await stored(sessions, held) == ["sandbox.created", "1"]


async def test_a_request_whose_client_disconnects_while_it_waits_is_not_stored(sessions: Sessions) -> None:
    held, free = await make_reporters(sessions, 2, at_work=True)
    made = a_writer(sessions)
    disconnected: set[int] = set()
    async with sessions() as session:
        await repository.lock(session, held.id)
        # The careful path is storing the first request when the others arrive; the client of one disconnects.
        first = post(made, held, {"seq": 1, "event_data": {"n": 1}})
        await post(made, free, {"event_data": {"n": 1}})
        leaving = post(made, held, {"seq": 2, "event_data": {"n": 2}}, gone=lambda: 2 in disconnected)
        staying = post(made, held, {"seq": 2, "event_data": {"n": "other 2"}}, gone=lambda: 3 in disconnected)
        await post(made, free, {"event_data": {"n": 2}})
        disconnected.add(2)
        await session.commit()
    answers = await asyncio.gather(first, leaving, staying, return_exceptions=True)

    assert [type(answer) for answer in answers] == [BatchResult, SenderGone, BatchResult]
    assert await stored(sessions, held) == ["sandbox.created", "1", "other 2"]
    assert await stored(sessions, free) == ["sandbox.created", "1", "2"]


async def test_too_many_waiting_requests_are_refused_and_the_others_are_stored(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    (reporter,) = await make_reporters(sessions, 1, at_work=True)
    made = a_writer(sessions)
    monkeypatch.setattr(writer, "MAX_REQUESTS", 3)

    outcomes = await asyncio.gather(*(post(made, reporter, {}) for _ in range(5)), return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [BatchResult] * 3 + [NotReady] * 2
    assert isinstance(await post(made, reporter, {}), BatchResult)
    async with sessions() as session:
        sandbox = await session.get_one(Sandbox, reporter.id)
    assert (sandbox.last_seq, sandbox.event_counts["agent.message"]) == (5, 4)
