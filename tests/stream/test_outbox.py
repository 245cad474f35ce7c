"""The outbox holds every change of the transaction that made it, and nothing of one that was rolled back."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.masking import Masker
from omoi_os.protocol.events import Event, EventSource
from omoi_os.sandboxes.ingest.careful_path import record_events
from omoi_os.stream.models import Change, Outbox
from tests.builders import a_work_sandbox
from tests.conftest import NOON


async def _rows(session: AsyncSession) -> list[Outbox]:
    return list((await session.execute(select(Outbox).order_by(Outbox.xid, Outbox.id))).scalars())


async def test_a_batch_of_events_is_one_run_in_the_outbox(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    await session.commit()
    first = sandbox.last_seq + 1
    posted = [Event("agent.message", {"text": str(n)}, EventSource.AGENT, seq=n) for n in (1, 2, 3)]

    await record_events(session, MemoryBus(), sandbox.id, posted, now=NOON, masker=Masker())
    await session.commit()

    runs = [row for row in await _rows(session) if row.change == Change.SANDBOX_EVENT]
    assert (runs[-1].sandbox_id, runs[-1].first_seq, runs[-1].last_seq) == (sandbox.id, first, first + 2)
    assert sandbox.event_counts["agent.message"] == 3


async def test_what_is_rolled_back_is_not_told(sessions: Sessions) -> None:
    async with sessions() as session:
        sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
        await session.commit()
        told = len(await _rows(session))
        posted = [Event("agent.message", {}, EventSource.AGENT, seq=1)]
        await record_events(session, MemoryBus(), sandbox.id, posted, now=NOON, masker=Masker())
        await session.rollback()
        assert len(await _rows(session)) == told
