"""Leftover spools: store the events that a worker spooled but could not send, in batches and within its quota."""

import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence

from omoi_os.audit.models import AuditKind
from omoi_os.audit.trail import Entry, write
from omoi_os.db.base import own_connection
from omoi_os.errors import Invalid, ProviderError, StaleFence, TooLarge, TooMany
from omoi_os.orchestrator.context import Context
from omoi_os.protocol.events import Event, blob_digests
from omoi_os.protocol.paths import BLOBS, SPOOL
from omoi_os.protocol.spool import FORGOTTEN, Stored, damaged, walk
from omoi_os.providers.base import SandboxProvider, SandboxRef
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes.artifacts import blobs
from omoi_os.sandboxes.ingest import careful_path
from omoi_os.sandboxes.ingest.event_log import append_platform_event
from omoi_os.sandboxes.ingest.numbering import REJECTED
from omoi_os.sandboxes.ingest.quota import UNIT_BYTES, Quota
from omoi_os.sandboxes.lifecycle import ENDED
from omoi_os.sandboxes.models import Sandbox
from omoi_os.system.off_loop import off_loop

log = logging.getLogger(__name__)

#: The most that one transaction stores. A stored batch is acknowledged, so a retry continues with the next one.
BATCH_EVENTS = 200
BATCH_BYTES = 1 << 20
#: The total size of the blobs of one leftover spool, and of each blob, as for blobs that are uploaded.
MAX_BLOBS_BYTES = 256 << 20
MAX_BLOB_BYTES = 32 << 20

#: Returns a blob that is still in the sandbox; None if it was uploaded already or does not match its hash.
FindBlob = Callable[[str], Awaitable[bytes | None]]


async def read_spool(context: Context, row: Sandbox, ref: SandboxRef) -> None:
    """Store the events that an ended sandbox's worker could not send, with the blobs that they name."""
    provider = context.providers.get(row.provider)
    try:
        data = await provider.read_file(ref, SPOOL)
    except (FileNotFoundError, ProviderError):
        return
    await store(context, row.id, data, find_blob=BlobReader(provider, ref))


async def store(context: Context, sandbox_id: str, data: bytes, *, find_blob: FindBlob) -> None:
    """Store the events of a spool that are not acknowledged yet. Can be repeated after a failure at any point.

    It keeps to the rate limit of a posting worker, so that a large spool does not delay the events of others.
    """
    async with context.sessions() as session:
        sandbox = await sandboxes_repository.get(session, sandbox_id)
    quota = Quota()
    for batch in batches(data, after=sandbox.acked_seq if sandbox else 0):
        size = sum(stored.end - stored.start for stored in batch)
        await quota.pace(sandbox_id, len(batch) + size / UNIT_BYTES)
        try:
            await _store_batch(context, sandbox_id, [_event(stored) for stored in batch], find_blob=find_blob)
        except StaleFence:
            log.info("sandbox %s has ended or was superseded; the rest of its spool has no effect", sandbox_id)
            return
        except TooMany as error:
            await _note_left_out(context, sandbox_id, str(error), first=batch[0].seq)
            return


async def _note_left_out(context: Context, sandbox_id: str, reason: str, *, first: int) -> None:
    """Add an event to the sandbox's log that says that the rest was not stored, and why."""
    log.warning("sandbox %s: the events of its spool from seq %d on are not stored: %s", sandbox_id, first, reason)
    async with context.sessions() as session, session.begin():
        sandbox = await sandboxes_repository.lock(session, sandbox_id)
        if sandbox.status in ENDED:
            return
        data = {"reason": reason, "first_seq": first}
        append_platform_event(session, sandbox, REJECTED, data, now=context.now())


def batches(data: bytes, *, after: int) -> Iterator[Sequence[Stored]]:
    """Yield the events of a spool after a number in batches, decoded as they are needed."""
    batch: list[Stored] = []
    size = 0
    for stored in walk(data):
        if stored.seq <= after or (stored.event is not None and stored.event.event_type == FORGOTTEN):
            continue
        length = stored.end - stored.start
        if batch and (len(batch) == BATCH_EVENTS or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(stored)
        size += length
    if batch:
        yield batch


def _event(stored: Stored) -> Event:
    return stored.event or damaged(stored.seq)


async def _store_batch(context: Context, sandbox_id: str, events: Sequence[Event], *, find_blob: FindBlob) -> None:
    """Store one batch in its own transaction, after its blobs, one of which is in memory at a time."""
    for digest in dict.fromkeys(digest for event in events for digest in blob_digests(event.event_data)):
        content = await find_blob(digest)
        if content is None:
            continue
        content = await off_loop(blobs.masked, content, context.masker)
        async with context.sessions() as session, own_connection(session):
            sandbox = await sandboxes_repository.lock(session, sandbox_id)
            with contextlib.suppress(TooLarge):
                limit = context.settings.sandbox_blobs_mb << 20
                await blobs.store(session, sandbox, digest, content, max_total=limit)
            await session.commit()
    limit = context.settings.sandbox_events_mb << 20
    now, masker = context.now(), context.masker
    async with careful_path.transaction(context.sessions) as session:
        result = await careful_path.record_events(
            session, context.bus, sandbox_id, events, now=now, masker=masker, max_bytes=limit
        )
        if result.conflict is not None:
            entry = Entry(AuditKind.CHANGED_EVENT, sandbox_id, sandbox_id, result.conflict)
            await write(session, entry, masker=masker, now=now)


class BlobReader:
    """Reads the blobs in an ended sandbox, up to a total size: sparse files cost a sandbox nothing."""

    def __init__(self, provider: SandboxProvider, ref: SandboxRef) -> None:
        self._provider, self._ref = provider, ref
        self._left = MAX_BLOBS_BYTES

    async def __call__(self, digest: str) -> bytes | None:
        """Return a blob; None if it was uploaded already, does not match its hash, or is too large."""
        if self._left <= 0:
            return None
        try:
            content = await self._provider.read_file(self._ref, f"{BLOBS}/{digest}")
            self._left -= len(content)
            await off_loop(blobs.check, digest, content)
        except (FileNotFoundError, ProviderError, Invalid):
            return None
        return content if len(content) <= MAX_BLOB_BYTES else None
