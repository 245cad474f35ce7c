"""Messages: the queue of a sandbox, receipts, and redelivery to the next attempt."""

import asyncio
import json
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.base import Topic
from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.errors import Conflict, TooMany
from omoi_os.ids import token_hash
from omoi_os.masking import Masker
from omoi_os.protocol.events import Event, EventType
from omoi_os.protocol.messages import Deliver, MessageType
from omoi_os.sandboxes import service
from omoi_os.sandboxes.artifacts import transcripts
from omoi_os.sandboxes.ingest.careful_path import record_events
from omoi_os.sandboxes.lifecycle import Purpose, SandboxState, StopCause
from omoi_os.sandboxes.messages import mailbox
from omoi_os.sandboxes.messages import repository as message_repository
from omoi_os.sandboxes.messages import service as messages
from omoi_os.sandboxes.messages.service import NewMessage, Sender
from omoi_os.sandboxes.models import Sandbox, SandboxMessage
from omoi_os.sandboxes.service import Origin
from omoi_os.stream.models import Change, Outbox
from omoi_os.tasks import service as tasks
from omoi_os.tasks.lifecycle import EndCause
from omoi_os.tasks.models import Task
from tests.builders import a_task, a_work_sandbox
from tests.conftest import NOON

LATER = NOON + timedelta(seconds=1)
LAST = NOON + timedelta(seconds=2)


async def say(session: AsyncSession, sandbox: Sandbox, content: str = "hello", bus: MemoryBus | None = None) -> UUID:
    draft = NewMessage(content, MessageType.USER_MESSAGE, Deliver.NEXT_TOOL)
    sender = Sender("user:ada@example.org")
    return await messages.queue(session, bus or MemoryBus(), sandbox.id, draft, sender=sender, now=NOON)


async def waiting(session: AsyncSession, sandbox: Sandbox, after: UUID | None = None) -> list[UUID]:
    rows = await mailbox.queued(session, sandbox.id, sandbox.token_hash, after=after, limit=1000)
    assert not await mailbox.queued(session, sandbox.id, token_hash("sbx_x"), after=after, limit=1000)
    return [UUID(row["message_id"]) for row in rows]


async def told(session: AsyncSession) -> list[tuple[str, str, str]]:
    """What the outbox says of messages after a commit: id, status, time."""
    await session.commit()
    query = select(Outbox).where(Outbox.change == Change.MESSAGE_STATUS).order_by(Outbox.xid, Outbox.id)
    data = [row.data or {} for row in (await session.execute(query)).scalars()]
    return [(item["message_id"], item["status"], item["at"]) for item in data]


async def injected(session: AsyncSession, sandbox: Sandbox, message_id: object, *, seq: int = 1) -> None:
    event = Event(EventType.AGENT_MESSAGE_INJECTED, {"message_id": message_id}, seq=seq)
    await record_events(session, MemoryBus(), sandbox.id, [event], now=LATER, masker=Masker())


async def receipts(session: AsyncSession, message_id: UUID) -> tuple[Any, Any, str]:
    row = await session.get_one(SandboxMessage, message_id, populate_existing=True)
    return row.delivered_at, row.seen_at, messages.status_of(row)


async def task_of(session: AsyncSession, sandbox: Sandbox) -> Task:
    return await session.get_one(Task, sandbox.task_id)


async def test_messages_wait_in_the_order_of_being_said_until_acknowledged(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    said = [await say(session, sandbox, f"{number}") for number in range(30)]

    assert await waiting(session, sandbox) == said
    assert await waiting(session, sandbox, after=said[9]) == said[10:]

    own = await messages.acknowledge(session, sandbox, [said[0], said[2], uuid4()], now=LATER)
    again = await messages.acknowledge(session, sandbox, [said[0], said[2]], now=LAST)

    assert own == again == {said[0], said[2]}
    assert await waiting(session, sandbox) == [said[1], *said[3:]]
    assert (await session.get_one(SandboxMessage, said[0], populate_existing=True)).acked_at == LATER


async def test_a_clock_that_is_behind_changes_no_order(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    ahead = UUID("ffffffff-0000-7000-8000-000000000000")
    session.add(
        SandboxMessage(
            id=ahead, sandbox_id=sandbox.id, message_type="system", content="x", deliver="now", sender="system"
        )
    )

    said = [await say(session, sandbox) for _ in range(3)]

    assert await waiting(session, sandbox) == [ahead, *said]
    assert len({str(one)[14:] for one in said}) == 3
    assert {one.version for one in said} == {7}


async def test_being_said_wakes_who_waits_for_that_sandbox(sessions: Sessions) -> None:
    bus = MemoryBus()
    async with sessions.begin() as session:
        sandbox, _ = await a_work_sandbox(session, bus, now=NOON)
    async with bus.listen(Topic.MESSAGES) as wakeups:
        await anext(wakeups)
        async with sessions.begin() as session:
            message_id = await say(session, sandbox, bus=bus)
        async with asyncio.timeout(10):
            assert (await anext(wakeups)).key == sandbox.id
    async with sessions() as session:
        assert await told(session) == [(str(message_id), "queued", NOON.isoformat())]


async def test_the_event_of_its_injection_is_the_receipt_of_delivery(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    message_id = await say(session, sandbox)

    await injected(session, sandbox, str(message_id))
    await injected(session, sandbox, str(message_id), seq=2)

    assert await receipts(session, message_id) == (LATER, None, "delivered")
    assert await waiting(session, sandbox) == []
    assert [status for _, status, _ in await told(session)] == ["queued", "delivered"]


@pytest.mark.parametrize(
    "claimed", [None, 3, "", "x" * 1000, "\0", ["a"], "0190a5d0-ac96-774b-bcce-b302099a8057", "{upper}", "another's"]
)
async def test_nothing_else_is_taken_for_a_receipt(session: AsyncSession, claimed: object) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    other, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    mine, others = await say(session, sandbox), await say(session, other)
    named = {"another's": str(others), "{upper}": str(mine).upper().replace("-", "")}
    claimed = named.get(claimed, claimed) if isinstance(claimed, str) else claimed

    await injected(session, sandbox, claimed)

    assert await receipts(session, mine) == await receipts(session, others) == (None, None, "queued")


async def test_what_was_delivered_is_seen_once(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    message_id = await say(session, sandbox)
    await injected(session, sandbox, str(message_id))

    for moment in (LAST, LAST + timedelta(hours=1)):
        await messages.mark_seen(session, MemoryBus(), sandbox.id, [message_id, uuid4()], now=moment)

    assert await receipts(session, message_id) == (LATER, LAST, "seen")
    assert [status for _, status, _ in await told(session)] == ["queued", "delivered", "seen"]


async def test_nothing_is_seen_before_it_was_delivered(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    message_id = await say(session, sandbox)
    await injected(session, sandbox, str(message_id))

    await messages.mark_seen(session, MemoryBus(), sandbox.id, [message_id], now=NOON)

    assert await receipts(session, message_id) == (LATER, LATER, "seen")
    assert (await told(session))[-1][1:] == ("seen", LATER.isoformat())


async def test_what_the_model_was_shown_first_counts_when_its_delivery_is_reported(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    message_id = await say(session, sandbox)
    early = NOON + timedelta(milliseconds=500)

    await messages.mark_seen(session, MemoryBus(), sandbox.id, [message_id], now=early)
    assert (await receipts(session, message_id))[2] == "queued"
    assert [status for _, status, _ in await told(session)] == ["queued"]
    await injected(session, sandbox, str(message_id))

    assert await receipts(session, message_id) == (early, early, "seen")
    assert [status for _, status, _ in await told(session)] == ["queued", "delivered", "seen"]


async def test_another_sandbox_sees_nothing_of_it_and_an_ended_one_nothing_more(session: AsyncSession) -> None:
    bus = MemoryBus()
    sandbox, _ = await a_work_sandbox(session, bus, now=NOON)
    other, _ = await a_work_sandbox(session, bus, now=NOON)
    message_id = await say(session, sandbox)
    await injected(session, sandbox, str(message_id))

    await messages.mark_seen(session, bus, other.id, [message_id], now=LAST)
    await service.end(session, bus, sandbox, state=SandboxState.STOPPED, reason="done", now=LAST)
    await messages.mark_seen(session, bus, sandbox.id, [message_id], now=LAST)

    assert await receipts(session, message_id) == (LATER, None, "delivered")


async def test_the_queue_of_a_sandbox_is_bounded(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    said = [await say(session, sandbox) for _ in range(messages.MAX_QUEUED)]

    with pytest.raises(TooMany, match="has 100 queued messages"):
        await say(session, sandbox)
    await messages.acknowledge(session, sandbox, said[:1], now=LATER)
    await say(session, sandbox)


async def test_an_ended_stopping_or_verifying_sandbox_receives_no_message(session: AsyncSession) -> None:
    bus = MemoryBus()
    ended, _ = await a_work_sandbox(session, bus, now=NOON)
    stopping, _ = await a_work_sandbox(session, bus, now=NOON)
    task = await a_task(session, bus)
    origin = Origin(provider="local", site="here", model=None, budget_usd=None)
    verifying, _ = await service.open_sandbox(session, bus, task, purpose=Purpose.VERIFY, origin=origin, now=NOON)
    await service.end(session, bus, ended, state=SandboxState.LOST, reason="gone", now=NOON)
    await service.request_stop(session, bus, stopping, cause=StopCause.PERSON, reason="enough")

    with pytest.raises(Conflict, match=rf"has ended \(gone\); .* POST /api/v1/tasks/{ended.task_id}/retry"):
        await say(session, ended)
    with pytest.raises(Conflict, match=f"is stopping; .* POST /api/v1/tasks/{stopping.task_id}/retry"):
        await say(session, stopping)
    with pytest.raises(Conflict, match="runs no agent"):
        await say(session, verifying)


def entry(message_id: UUID, kind: str = "user", **fields: object) -> bytes:
    """A line of a conversation that carries a message."""
    content = f"[message {message_id} user_message from user:ada@example.org]\nhello\n"
    line = {"type": kind, "uuid": str(uuid4()), "message": {"role": "user", "content": content}, **fields}
    return json.dumps(line).encode() + b"\n"


async def save(session: AsyncSession, sandbox: Sandbox, *lines: bytes, start: int = 0) -> int:
    part = transcripts.pack(b"".join(lines), Masker(), start=start)
    return await transcripts.store(session, sandbox, part, session_id="s", now=LATER)


async def see(session: AsyncSession, sandbox: Sandbox, *ids: UUID) -> None:
    for message_id in ids:
        await injected(session, sandbox, str(message_id), seq=sandbox.acked_seq + 1)
    await messages.mark_seen(session, MemoryBus(), sandbox.id, ids, now=LAST)


async def next_attempt(session: AsyncSession, sandbox: Sandbox) -> Sandbox:
    bus = MemoryBus()
    await service.end(session, bus, sandbox, state=SandboxState.LOST, reason="gone", now=LAST)
    task = await task_of(session, sandbox)
    await tasks.give_back(session, bus, task, cause=EndCause.WORK, reason="lost", backoff=timedelta(0), now=LAST)
    return (await a_work_sandbox(session, bus, task, now=LAST))[0]


async def redeliveries(session: AsyncSession, message_id: UUID) -> int:
    return (await session.get_one(SandboxMessage, message_id, populate_existing=True)).redeliveries


async def test_what_was_seen_is_delivered_again_when_the_resumed_conversation_lacks_it(session: AsyncSession) -> None:
    first, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    kept, also_kept, lost, repeated = [await say(session, first, name) for name in "abcd"]
    await see(session, first, kept, also_kept, lost, repeated)
    stored = await save(session, first, entry(kept))
    # What was only queued inside, or is a copy of a request, is no part of what a new process resumes.
    await save(
        session,
        first,
        entry(also_kept, "attachment"),
        entry(repeated, "queue-operation"),
        entry(repeated, "api-request-blob"),
        entry(repeated, isSidechain=True),
        entry(repeated)[:-20] + b"\n",
        start=stored,
    )

    second = await next_attempt(session, first)

    assert await waiting(session, second) == [lost, repeated]
    assert [await redeliveries(session, each) for each in (kept, also_kept, lost, repeated)] == [0, 0, 1, 1]
    assert (await receipts(session, lost))[2] == "queued"
    assert (await told(session))[-1] == (str(repeated), "queued", LAST.isoformat())
    await see(session, second, lost)
    assert (await receipts(session, lost))[2] == "seen"


async def test_what_was_seen_is_delivered_again_when_no_conversation_was_saved(session: AsyncSession) -> None:
    first, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    message_id = await say(session, first)
    await see(session, first, message_id)

    assert await waiting(session, await next_attempt(session, first)) == [message_id]


async def test_only_the_conversation_that_is_resumed_counts(session: AsyncSession) -> None:
    first, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    message_id = await say(session, first)
    await see(session, first, message_id)
    await save(session, first, entry(message_id))
    second = await next_attempt(session, first)
    assert await waiting(session, second) == []
    await save(session, second, b'{"type": "user", "uuid": "another"}\n')

    assert await waiting(session, await next_attempt(session, second)) == [message_id]


async def test_a_conversation_that_is_saved_again_from_its_beginning_replaces_what_it_carried(
    session: AsyncSession,
) -> None:
    first, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    message_id = await say(session, first)
    await see(session, first, message_id)
    await save(session, first, entry(message_id))
    await save(session, first, b'{"type": "user", "uuid": "another"}\n')

    assert await waiting(session, await next_attempt(session, first)) == [message_id]


async def test_a_message_without_receipt_that_the_resumed_conversation_carries_comes_once(
    session: AsyncSession,
) -> None:
    first, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    message_id = await say(session, first)
    await save(session, first, entry(message_id))

    second = await next_attempt(session, first)

    assert await waiting(session, second) == []
    await messages.mark_seen(session, MemoryBus(), second.id, [message_id], now=LAST)
    assert (await receipts(session, message_id))[2] == "seen"


async def test_a_conversation_carries_no_message_of_another_task(session: AsyncSession) -> None:
    first, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    other, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    message_id = await say(session, other)
    await see(session, other, message_id)
    await save(session, first, entry(message_id))

    assert await waiting(session, await next_attempt(session, other)) == [message_id]


async def test_an_agent_that_starts_without_its_conversation_gets_every_message_again(session: AsyncSession) -> None:
    first, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    kept = await say(session, first)
    await see(session, first, kept)
    await save(session, first, entry(kept))
    second = await next_attempt(session, first)
    own = await say(session, second)
    await injected(session, second, str(own), seq=1)

    event = Event(EventType.AGENT_ERROR, {"error": "refused", "conversation_lost": True}, seq=2)
    await record_events(session, MemoryBus(), second.id, [event], now=LAST, masker=Masker())

    assert await waiting(session, second) == [kept, own]
    assert [await redeliveries(session, each) for each in (kept, own)] == [1, 1]


async def test_what_an_agent_may_not_have_seen_waits_for_the_next_attempt(session: AsyncSession) -> None:
    bus = MemoryBus()
    first, _ = await a_work_sandbox(session, bus, now=NOON)
    queued, acked, delivered, seen, forged = [await say(session, first, name) for name in "abcde"]
    await save(session, first, entry(seen))
    await messages.acknowledge(session, first, [acked], now=NOON)
    await injected(session, first, str(delivered), seq=1)
    await injected(session, first, str(seen), seq=2)
    await messages.mark_seen(session, bus, first.id, [seen, forged], now=LAST)
    await service.end(session, bus, first, state=SandboxState.LOST, reason="gone", now=LAST)
    task = await task_of(session, first)
    await tasks.give_back(session, bus, task, cause=EndCause.WORK, reason="lost", backoff=timedelta(0), now=LAST)

    second, _ = await a_work_sandbox(session, bus, task, now=LAST)

    assert await waiting(session, second) == [queued, acked, delivered, forged]
    assert await receipts(session, forged) == (None, None, "queued")
    assert [row.id for row in await _history(session, first)] == [seen]
    assert (await told(session))[-1] == (str(forged), "queued", LAST.isoformat())
    with pytest.raises(Conflict, match=f"continues in another sandbox: POST /api/v1/sandboxes/{second.id}/messages"):
        await say(session, first)


async def _history(session: AsyncSession, sandbox: Sandbox) -> Any:
    return await message_repository.history(session, sandbox.id, order="asc", limit=10, beyond=None)
