"""A dead worker's spool is trusted as little as a post."""

import zlib
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.masking import Masker
from omoi_os.protocol.events import Event
from omoi_os.protocol.spool import encode_frame, read_frames
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.ingest.intake import take_spool
from tests.builders import a_work_sandbox
from tests.conftest import NOON


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"v": value}
    return value


async def test_hostile_frames_use_up_their_numbers_and_harm_nobody(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    frames = [
        Event("agent.\0started", {}, seq=1),
        Event("agent.message", {"n": float("nan")}, seq=2),
        Event("agent.message", deep(5_000), seq=3),
        Event("agent.message", {}, event_id=["not", "text"], seq=4),  # type: ignore[arg-type]
        Event("task.verified", {"verified": True}, seq=5),
        Event("agent.message", {}, source="system", seq=6),
        Event("agent.message", {"text": "\ud800"}, seq=7),
        Event("agent.message", {"text": "the last word"}, seq=8),
    ]

    recorded = await take_spool(session, MemoryBus(), sandbox, frames, now=NOON, masker=Masker())
    await session.commit()

    assert [rejection.seq for rejection in recorded.rejected] == [1, 2, 3, 4, 5, 6, 7]
    assert (recorded.accepted, recorded.last_seq) == (1, 8)
    events = await repository.list_events(session, sandbox.id, order="asc", limit=20)
    assert [event.event_type for event in events] == ["sandbox.created", *["rejected"] * 7, "agent.message"]
    assert events[-1].event_data == {"text": "the last word"}


def test_a_frame_that_cannot_be_read_is_marked_and_no_error() -> None:
    whole = encode_frame(Event("agent.message", {}, seq=1))
    body = b'{"event_data": ' + b"[" * 200_000
    hostile = len(body).to_bytes(4, "little") + zlib.crc32(body).to_bytes(4, "little") + body

    read = read_frames(whole + hostile + whole)
    assert [event.seq for event in read][:2] == [1, 2]
    assert {event.event_data.get("spool_corrupt") for event in read[1:]} == {True}
