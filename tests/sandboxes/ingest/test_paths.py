"""Scenarios that every way of storing events keeps to: fast (cached or locked position), careful, and from a spool."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import select, text

from omoi_os.bus.base import Topic
from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.errors import BadToken, BeyondGap, SeqTaken, StaleFence, TooMany
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.ingest.event_log import MAX_COUNTED_TYPES, OTHER_TYPES, BatchResult
from omoi_os.sandboxes.ingest.numbering import Rejection, StoredEvent
from omoi_os.sandboxes.models import Sandbox, SandboxEvent
from omoi_os.stream.models import Change, Outbox
from omoi_os.system import failpoint
from tests.api_process import Reporter, make_reporters
from tests.sandboxes.ingest.paths import PATHS, SECRET, Path

POSTED = ("cached", "locked", "careful")
FAILPOINTS = ("after_insert", "before_commit", "after_commit_before_ack")


@pytest.fixture
async def reporter(sessions: Sessions) -> Reporter:
    return (await make_reporters(sessions, 1, at_work=True))[0]


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest, sessions: Sessions) -> Path:
    return PATHS[request.param](sessions)


@pytest.fixture(params=POSTED)
def posting(request: pytest.FixtureRequest, sessions: Sessions) -> Path:
    """A way that single events come."""
    return PATHS[request.param](sessions)


def event(seq: int | None, **fields: Any) -> dict[str, Any]:
    return {"seq": seq, "event_data": {"n": seq}} | fields


@dataclass(frozen=True)
class Log:
    """What is stored of a sandbox."""

    row: Sandbox
    events: list[SandboxEvent]

    @property
    def texts(self) -> list[str]:
        """What the posted events say; the type of those that say nothing."""
        return [str(event.event_data.get("n", event.event_type)) for event in self.events[1:]]


async def read(sessions: Sessions, reporter: Reporter) -> Log:
    """Read the log; its numbers are dense, and everything in it was published once."""
    async with sessions() as session:
        row = await session.get_one(Sandbox, reporter.id)
        events = list(await repository.list_events(session, reporter.id, order="asc", limit=500))
        query = select(Outbox).where(Outbox.sandbox_id == reporter.id, Outbox.change == Change.SANDBOX_EVENT)
        runs = (await session.execute(query.order_by(Outbox.xid, Outbox.id))).scalars().all()
    assert [event.seq for event in events] == list(range(1, row.last_seq + 1))
    published = [seq for run in runs for seq in range(run.first_seq or 0, (run.last_seq or 0) + 1)]
    assert published == [event.seq for event in events]
    counts: dict[str, int] = {}
    for each in events:
        counts[each.event_type] = counts.get(each.event_type, 0) + 1
    assert len(counts) > MAX_COUNTED_TYPES or row.event_counts == counts
    return Log(row, events)


async def test_new_events_are_stored_numbered_and_published(path: Path, sessions: Sessions, reporter: Reporter) -> None:
    first = await path.post(reporter, event(1), event(2, event_id="two", source="worker"))
    second = await path.post(reporter, event(3, occurred_at="2026-11-15T11:00:00+00:00"))

    assert first == BatchResult(accepted=2, last_seq=2)
    assert second == BatchResult(accepted=1, last_seq=3)
    assert path.left_over == 0
    log = await read(sessions, reporter)
    assert log.texts == ["1", "2", "3"]
    assert (log.row.acked_seq, log.row.last_seq) == (3, 4)
    assert [(each.event_id == "two", each.source, each.posted_seq) for each in log.events[1:]] == [
        (False, "agent", 1),
        (True, "worker", 2),
        (False, "agent", 3),
    ]
    assert log.events[3].occurred_at.isoformat() == "2026-11-15T11:00:00+00:00"
    assert log.events[2].occurred_at == log.events[2].created_at == log.events[1].created_at
    assert log.row.last_work_at == log.events[3].created_at


async def test_a_resent_batch_is_stored_once(path: Path, sessions: Sessions, reporter: Reporter) -> None:
    batch = [event(1), event(2, event_id="two"), event(3, event_type="task.verified")]
    await path.post(reporter, *batch)

    assert await path.post(reporter, *batch) == BatchResult(duplicates=3, last_seq=3)
    assert await path.post(reporter, *batch, event(4)) == BatchResult(accepted=1, duplicates=3, last_seq=4)
    assert (await read(sessions, reporter)).texts == ["1", "2", "rejected", "4"]


async def test_nothing_beyond_a_gap_is_stored(path: Path, sessions: Sessions, reporter: Reporter) -> None:
    assert await path.post(reporter, event(1), event(3), event(4)) == BatchResult(accepted=1, last_seq=1, beyond_gap=2)
    assert await path.post(reporter, event(4)) == BatchResult(last_seq=1, beyond_gap=1)
    assert (await read(sessions, reporter)).texts == ["1"]

    assert await path.post(reporter, event(2), event(3), event(4)) == BatchResult(accepted=3, last_seq=4)
    assert (await read(sessions, reporter)).texts == ["1", "2", "3", "4"]


async def test_a_rejected_event_leaves_a_stub_and_is_acknowledged(
    path: Path, sessions: Sessions, reporter: Reporter
) -> None:
    forged = event(1, event_type="task.verified", event_id="forged")
    no_type = event(2, event_type="Not A Type")
    unnumbered = event(None, event_type="sandbox.lost")

    result = await path.post(reporter, unnumbered, forged, no_type, event(3))

    assert isinstance(result, BatchResult)
    assert (result.accepted, result.last_seq) == (1, 3)
    assert [rejection.seq for rejection in result.rejected] == [1, 2, None]
    assert result.rejected[0] == Rejection(1, "task.verified events come from the platform only")
    assert path.left_over == 0
    log = await read(sessions, reporter)
    assert log.texts == ["rejected", "rejected", "3"]
    assert log.events[1].event_data == {"event_type": "task.verified", "reason": result.rejected[0].reason}
    assert (log.events[1].event_id, log.events[1].posted_seq, log.events[1].source) == ("forged", 1, "worker")


async def test_the_first_event_stays_when_its_number_comes_with_other_content(
    path: Path, sessions: Sessions, reporter: Reporter
) -> None:
    await path.post(reporter, event(1, event_id="one"), event(2), event(3, event_type="task.verified"))

    result = await path.post(
        reporter,
        event(1, event_id="one"),
        event(2, event_data={"n": "changed"}),
        event(2, event_type="agent.thinking"),
        event(3),
        event(1, event_id="other"),
        event(4),
    )

    assert isinstance(result, BatchResult)
    assert (result.accepted, result.duplicates, result.last_seq) == (1, 1, 4)
    assert [rejection.seq for rejection in result.rejected] == [2, 2, 3, 1]
    assert result.conflict == result.rejected[0].reason
    assert result.rejected[3].reason == "seq 1 was already used for event one; the first event is kept"
    assert (await read(sessions, reporter)).texts == ["1", "2", "rejected", "4"]


async def test_the_same_id_is_stored_once_and_uses_its_number(
    path: Path, sessions: Sessions, reporter: Reporter
) -> None:
    await path.post(reporter, event(1, event_id="x"))

    # Under the next number, without a number, beyond a gap.
    for repeated, acked in ((event(2, event_id="x"), 2), (event(None, event_id="x"), 2), (event(9, event_id="x"), 2)):
        assert await path.post(reporter, repeated) == BatchResult(duplicates=1, last_seq=acked)
    assert await path.post(reporter, event(3)) == BatchResult(accepted=1, last_seq=3)
    assert (await read(sessions, reporter)).texts == ["1", "3"]


async def test_repetitions_inside_one_batch_are_stored_once(path: Path, sessions: Sessions, reporter: Reporter) -> None:
    result = await path.post(
        reporter, event(1), event(1), event(2, event_id="x"), event(2, event_id="x"), event(None, event_id="x")
    )

    assert result == BatchResult(accepted=2, duplicates=3, last_seq=2)
    assert path.left_over == 0
    assert (await read(sessions, reporter)).texts == ["1", "2"]


async def test_events_without_number_and_id_are_all_stored(path: Path, sessions: Sessions, reporter: Reporter) -> None:
    assert await path.post(reporter, event(None), event(None)) == BatchResult(accepted=2)
    assert await path.post(reporter, event(None)) == BatchResult(accepted=1)

    log = await read(sessions, reporter)
    assert (len(log.texts), log.row.acked_seq) == (3, 0)


async def test_a_heartbeat_is_no_work_unless_a_command_runs(path: Path, sessions: Sessions, reporter: Reporter) -> None:
    await path.post(reporter, event(None, event_type="agent.heartbeat", event_data={"status": "working"}))
    first = (await read(sessions, reporter)).row
    await path.post(reporter, event(None, event_type="agent.heartbeat", event_data={"status": "working", "busy": True}))
    second = (await read(sessions, reporter)).row

    assert first.last_heartbeat_at is not None
    assert (first.first_heartbeat_at, first.last_work_at) == (first.last_heartbeat_at, None)
    assert second.last_heartbeat_at == second.last_work_at
    assert second.first_heartbeat_at == first.first_heartbeat_at


async def test_secrets_are_masked_and_a_nul_is_kept(path: Path, sessions: Sessions, reporter: Reporter) -> None:
    data = {"n": f"key={SECRET} {reporter.token}", "nul": "a\0b\x1f", f"k{SECRET}": [SECRET]}

    await path.post(reporter, event(1, event_data=data), event(2, event_data=data, source=SECRET))

    log = await read(sessions, reporter)
    assert log.events[1].event_data == {"n": "key=[masked] [masked]", "nul": "a\0b\x1f", "k[masked]": ["[masked]"]}
    assert SECRET not in str(log.events[2].event_data)


async def test_types_that_an_agent_invents_are_counted_together_beyond_a_limit(
    path: Path, sessions: Sessions, reporter: Reporter
) -> None:
    events = [event(n, event_type=f"agent.invented_{n}") for n in range(1, MAX_COUNTED_TYPES + 11)]
    await path.post(reporter, *events)

    counts = (await read(sessions, reporter)).row.event_counts
    assert (len(counts), counts[OTHER_TYPES], sum(counts.values())) == (MAX_COUNTED_TYPES + 1, 11, len(events) + 1)


async def test_an_ended_sandbox_stores_nothing(path: Path, sessions: Sessions, reporter: Reporter) -> None:
    async with sessions.begin() as session:
        await session.execute(text("UPDATE sandboxes SET status = 'stopped', end_reason = 'a reason'"))

    with pytest.raises(StaleFence, match="a reason"):
        await path.post(reporter, event(1))
    assert (await read(sessions, reporter)).texts == []


async def test_a_superseded_sandbox_stores_nothing(path: Path, sessions: Sessions, reporter: Reporter) -> None:
    async with sessions.begin() as session:
        await session.execute(text("UPDATE tasks SET fence = fence + 1"))

    with pytest.raises(StaleFence, match="superseded"):
        await path.post(reporter, event(1))
    assert (await read(sessions, reporter)).texts == []


@pytest.mark.parametrize("name", PATHS)
async def test_a_sandbox_that_has_used_up_its_quota_stores_no_more(
    name: str, sessions: Sessions, reporter: Reporter
) -> None:
    path = PATHS[name](sessions, max_bytes=10_000)
    large = {"n": "x" * 9_900}

    assert await path.post(reporter, event(1, event_data=large)) == BatchResult(accepted=1, last_seq=1)
    with pytest.raises(TooMany, match="OMOI_SANDBOX_EVENTS_MB"):
        await path.post(reporter, event(2))
    assert len((await read(sessions, reporter)).texts) == 1


async def test_another_token_stores_nothing(posting: Path, sessions: Sessions, reporter: Reporter) -> None:
    with pytest.raises(BadToken):
        await posting.post(Reporter(reporter.id, "sbx_another"), event(1))
    assert (await read(sessions, reporter)).texts == []


@pytest.mark.parametrize("repeated", [{"seq": 1}, {"seq": None, "event_id": "x"}, {"seq": 1, "event_id": "x"}])
async def test_an_event_sent_alone_twice_is_answered_alike(
    posting: Path, sessions: Sessions, reporter: Reporter, repeated: dict[str, Any]
) -> None:
    first = await posting.post(reporter, event(**repeated), alone=True)
    again = await posting.post(reporter, event(**repeated), alone=True)

    assert isinstance(first, StoredEvent)
    assert again == first
    log = await read(sessions, reporter)
    assert [(row.seq, row.event_id, row.created_at) for row in log.events[1:]] == [
        (first.seq, first.event_id, first.created_at)
    ]


async def test_an_event_sent_alone_beyond_a_gap_or_with_other_content_is_an_error(
    posting: Path, sessions: Sessions, reporter: Reporter
) -> None:
    await posting.post(reporter, event(1), alone=True)

    with pytest.raises(BeyondGap, match="send seq 2 first"):
        await posting.post(reporter, event(3), alone=True)
    with pytest.raises(SeqTaken, match="the first event is kept"):
        await posting.post(reporter, event(1, event_data={"n": "changed"}), alone=True)
    assert (await read(sessions, reporter)).texts == ["1"]


@pytest.mark.parametrize("name", PATHS)
async def test_the_stream_is_woken(name: str, sessions: Sessions, reporter: Reporter) -> None:
    bus = MemoryBus()
    path = PATHS[name](sessions, bus)
    async with bus.listen(Topic.STREAM) as wakeups:
        await anext(wakeups)
        await path.post(reporter, event(1))
        async with asyncio.timeout(60):
            assert (await anext(wakeups)).topic == Topic.STREAM


class Died(BaseException):
    """Stands for the death of the process at a failpoint."""


@pytest.mark.parametrize("point", FAILPOINTS)
async def test_a_death_at_a_failpoint_loses_and_doubles_nothing(
    path: Path, sessions: Sessions, reporter: Reporter, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    reached: list[str] = []

    def die(name: str) -> None:
        reached.append(name)
        if name == point:
            raise Died

    await path.post(reporter, event(1))
    with monkeypatch.context() as armed:
        armed.setattr(failpoint, "ARMED", True)
        armed.setattr(failpoint, "reach", die)
        with pytest.raises(Died):
            await path.post(reporter, event(2), event(3))

    # Each way comes to every failpoint, in this order.
    assert tuple(reached) == FAILPOINTS[: FAILPOINTS.index(point) + 1]
    is_committed = point == "after_commit_before_ack"
    assert (await read(sessions, reporter)).texts == (["1", "2", "3"] if is_committed else ["1"])
    again = await path.post(reporter, event(2), event(3))
    assert again == (BatchResult(duplicates=2, last_seq=3) if is_committed else BatchResult(accepted=2, last_seq=3))
    assert (await read(sessions, reporter)).texts == ["1", "2", "3"]
