"""The quota for the total size of one sandbox's events; acknowledged events stay."""

import asyncio

import pytest
from sqlalchemy import select

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.errors import TooMany
from omoi_os.sandboxes.ingest.event_log import BatchResult
from omoi_os.sandboxes.ingest.writer import Writer
from omoi_os.sandboxes.models import Sandbox, SandboxEvent
from tests.api_process import Reporter, make_reporters
from tests.sandboxes.ingest.test_writer import post

LIMIT = 100_000
LARGE = {"text": "x" * 9_000}


async def post_until_refused(made: Writer, reporter: Reporter, kind: str) -> int:
    """Post one event after the other and return how many were acknowledged."""
    number = 0
    with pytest.raises(TooMany, match="OMOI_SANDBOX_EVENTS_MB"):  # noqa: PT012
        while number < 100:
            answer = await post(made, reporter, {"event_type": kind, "event_data": LARGE, "seq": number + 1})
            number += 1
            assert isinstance(answer, BatchResult)
            assert answer.last_seq == number
    return number


# The first type is stored by the fast path, the second by the careful path.
@pytest.mark.parametrize("kind", ["agent.message", "agent.message_injected"])
async def test_a_sandbox_that_has_used_up_its_quota_is_refused_and_loses_nothing(sessions: Sessions, kind: str) -> None:
    greedy, other = await make_reporters(sessions, 2, at_work=True)
    made = Writer(sessions, MemoryBus(), max_event_bytes=LIMIT)

    acknowledged = await post_until_refused(made, greedy, kind)

    assert acknowledged == pytest.approx(LIMIT / 9_200, abs=2)
    async with sessions() as session:
        row = await session.get_one(Sandbox, greedy.id)
        numbers = await session.execute(
            select(SandboxEvent.posted_seq).where(SandboxEvent.sandbox_id == greedy.id, SandboxEvent.posted_seq > 0)
        )
        assert set(numbers.scalars()) == set(range(1, acknowledged + 1))
    assert LIMIT <= row.event_bytes < LIMIT + 10_000
    assert isinstance(await post(made, other, {"event_data": LARGE, "seq": 1}), BatchResult)


async def test_many_processes_count_together(sessions: Sessions) -> None:
    (greedy,) = await make_reporters(sessions, 1, at_work=True)
    writers = [Writer(sessions, MemoryBus(), max_event_bytes=LIMIT) for _ in range(3)]

    posts = [post(writers[number % 3], greedy, {"event_data": LARGE}) for number in range(60)]
    answers = await asyncio.gather(*posts, return_exceptions=True)

    assert {type(answer) for answer in answers} == {BatchResult, TooMany}
    async with sessions() as session:
        row = await session.get_one(Sandbox, greedy.id)
    assert LIMIT <= row.event_bytes < LIMIT + 10_000
