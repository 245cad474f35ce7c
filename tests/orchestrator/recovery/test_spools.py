"""Leftover spools are stored in batches: nothing is lost or stored twice, and no lock is held for long."""

import asyncio
import hashlib
import os
import zlib
from pathlib import Path
from typing import cast

import pytest
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.audit.models import AuditEntry, AuditKind
from omoi_os.bus.memory import MemoryBus
from omoi_os.orchestrator.recovery import spools
from omoi_os.protocol.events import Event
from omoi_os.protocol.paths import BLOBS, HOME
from omoi_os.protocol.spool import encode_frame, forgotten, read_frames
from omoi_os.providers.base import SandboxProvider, SandboxRef
from omoi_os.providers.local.host import files
from omoi_os.sandboxes.ingest.careful_path import record_events
from omoi_os.sandboxes.models import Sandbox, SandboxBlob, SandboxEvent
from tests.builders import a_work_sandbox
from tests.conftest import NOON
from tests.orchestrator.conftest import MakeContext


def a_spool(first: int, last: int, **data: object) -> bytes:
    """Return a worker's spool with these numbers; earlier ones were acknowledged and forgotten."""
    events = [Event("agent.message", {"text": f"{seq}", **data}, "agent", seq=seq) for seq in range(first, last + 1)]
    return b"".join(encode_frame(event) for event in [forgotten(first - 1), *events] if event.seq)


async def no_blob(_digest: str) -> bytes | None:
    return None


async def a_sandbox(session: AsyncSession) -> Sandbox:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    await session.commit()
    return sandbox


async def texts(session: AsyncSession, sandbox: Sandbox) -> list[str]:
    query = select(SandboxEvent.event_data).where(
        SandboxEvent.sandbox_id == sandbox.id, SandboxEvent.event_type == "agent.message"
    )
    return [data["text"] for data in (await session.execute(query.order_by(SandboxEvent.seq))).scalars()]


async def transactions(session: AsyncSession, sandbox: Sandbox) -> int:
    """Return in how many transactions its events were stored."""
    query = text("SELECT count(DISTINCT xmin::text) FROM sandbox_events WHERE sandbox_id = :id AND posted_seq > 0")
    return int((await session.execute(query, {"id": sandbox.id})).scalar_one())


async def test_a_large_spool_is_stored_in_many_short_transactions(
    session: AsyncSession, make_context: MakeContext
) -> None:
    sandbox = await a_sandbox(session)

    await spools.store(make_context(), sandbox.id, a_spool(1, 1000), find_blob=no_blob)

    assert await texts(session, sandbox) == [str(number) for number in range(1, 1001)]
    assert await transactions(session, sandbox) == 1000 / spools.BATCH_EVENTS


def test_large_events_make_small_batches() -> None:
    data = a_spool(1, 30, padding="x" * 200_000)

    sizes = [sum(stored.end - stored.start for stored in batch) for batch in spools.batches(data, after=10)]

    assert sum(len(batch) for batch in spools.batches(data, after=10)) == 20
    assert all(size <= spools.BATCH_BYTES for size in sizes)


async def test_a_reader_continues_where_one_that_died_stopped(session: AsyncSession, make_context: MakeContext) -> None:
    sandbox = await a_sandbox(session)
    content = b"large"
    digest = hashlib.sha256(content).hexdigest()
    data = a_spool(1, 450) + a_spool(451, 451, output_blob=digest)

    async def dies(_digest: str) -> bytes | None:
        raise ConnectionError

    async def finds(asked: str) -> bytes | None:
        return content if asked == digest else None

    with pytest.raises(ConnectionError):
        await spools.store(make_context(), sandbox.id, data, find_blob=dies)
    # The batches before it stay stored and acknowledged.
    assert await texts(session, sandbox) == [str(number) for number in range(1, 401)]
    await session.commit()

    await spools.store(make_context(), sandbox.id, data, find_blob=finds)

    assert await texts(session, sandbox) == [str(number) for number in range(1, 452)]
    blob = await session.get_one(SandboxBlob, (sandbox.id, digest))
    assert blob.content == content


async def test_a_spool_is_stored_up_to_the_quota_and_the_rest_is_named(
    session: AsyncSession, make_context: MakeContext
) -> None:
    sandbox = await a_sandbox(session)
    context = make_context(sandbox_events_mb=1)
    data = a_spool(1, 40, padding="x" * 100_000)

    for _ in range(2):
        await spools.store(context, sandbox.id, data, find_blob=no_blob)

    stored = len(await texts(session, sandbox))
    assert 10 <= stored < 40
    await session.refresh(sandbox)
    assert sandbox.acked_seq == stored
    query = select(SandboxEvent.event_data).where(
        SandboxEvent.sandbox_id == sandbox.id, SandboxEvent.event_type == "rejected"
    )
    notes = (await session.execute(query)).scalars().all()
    assert notes[0]["first_seq"] == stored + 1
    assert "OMOI_SANDBOX_EVENTS_MB" in notes[0]["reason"]


def test_a_frame_that_cannot_be_read_is_marked_as_corrupt() -> None:
    whole = encode_frame(Event("agent.message", {}, seq=1))
    body = b'{"event_data": ' + b"[" * 200_000
    hostile = len(body).to_bytes(4, "little") + zlib.crc32(body).to_bytes(4, "little") + body

    read = read_frames(whole + hostile + whole)
    assert [event.seq for event in read][:2] == [1, 2]
    assert {event.event_data.get("spool_corrupt") for event in read[1:]} == {True}


async def test_an_event_that_differs_from_the_stored_one_is_audited_and_the_stored_one_stays(
    session: AsyncSession, make_context: MakeContext
) -> None:
    sandbox, context = await a_sandbox(session), make_context()

    async def post_meanwhile(_digest: str) -> bytes | None:
        posted = [Event("agent.message", {"text": "posted"}, seq=1)]
        async with context.sessions.begin() as other:
            await record_events(other, context.bus, sandbox.id, posted, now=NOON, masker=context.masker)
        return None

    await spools.store(context, sandbox.id, a_spool(1, 2, a_blob="0" * 64), find_blob=post_meanwhile)

    assert await texts(session, sandbox) == ["posted", "2"]
    entry = (await session.execute(select(AuditEntry))).scalar_one()
    assert (entry.kind, entry.actor_id) == (AuditKind.CHANGED_EVENT, sandbox.id)


class Disk:
    """The files of an ended sandbox, read as the local provider reads them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.read = 0

    async def read_file(self, _ref: str, path: str) -> bytes:
        content = await asyncio.to_thread(files.read, lambda _name: os.open(self.folder, os.O_RDONLY), path)
        self.read += len(content)
        return content

    def sparse(self, size: int) -> str:
        """A blob of zeros that takes no space, named by its hash."""
        digest = hashlib.sha256(bytes(size)).hexdigest()
        path = self.folder / Path(BLOBS).relative_to(HOME) / digest
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.truncate(size)
        return digest


async def test_sparse_blobs_of_a_leftover_spool_are_read_one_at_a_time_up_to_a_total(
    session: AsyncSession, make_context: MakeContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 24 << 20
    monkeypatch.setattr(spools, "MAX_BLOBS_BYTES", 3 * size)
    sandbox, disk = await a_sandbox(session), Disk(tmp_path)
    digests = [disk.sparse(size + number) for number in range(8)]
    data = b"".join(a_spool(number, number, a_blob=digest) for number, digest in enumerate(digests, 1))
    before = _forget_peak()

    reader = spools.BlobReader(cast("SandboxProvider", disk), SandboxRef("any"))
    await spools.store(make_context(), sandbox.id, data, find_blob=reader)

    assert disk.read < 4 * (size + 8)
    assert _peak() - before < 12 * size
    query = select(SandboxBlob.sha256).where(SandboxBlob.sandbox_id == sandbox.id)
    assert set((await session.execute(query)).scalars()) == set(digests[:3])
    assert await texts(session, sandbox) == [str(number) for number in range(1, 9)]


def _forget_peak() -> int:
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))
