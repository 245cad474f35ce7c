"""Transcripts of agents, stored in compressed parts, so that another sandbox can resume the conversation."""

import asyncio
import json
import re
import zlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.db.base import Sessions
from omoi_os.errors import Conflict, NotFound, TooLarge
from omoi_os.masking import Masker
from omoi_os.protocol.messages import ids_in_conversation
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.messages import repository as message_repository
from omoi_os.sandboxes.models import Sandbox, Transcript, TranscriptPart
from omoi_os.strict_json import has_too_many_parts

SESSION_ID = r"^[A-Za-z0-9_-]{1,100}$"
#: Default of the total size of one transcript (OMOI_SANDBOX_TRANSCRIPT_MB).
MAX_TOTAL_BYTES = 256 * 1024 * 1024
#: Shorter lines cannot contain a secret.
_SHORTEST_SECRET = 8
#: How much is read from the database, and decompressed, at a time.
PIECE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a transcript: its offset in the worker's file, its sizes, and its compressed content."""

    start: int
    received: int
    size: int
    packed: bytes
    #: Ids of the messages that it contains.
    message_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Packed:
    """A stored part, which is read when it is needed."""

    sandbox_id: str
    start: int
    size: int


def pack(raw: bytes, masker: Masker, *, start: int) -> Part:
    """Mask and compress a part. Each line is masked separately, so that every line stays one JSON value."""
    packing, packed, waiting, size = zlib.compressobj(), bytearray(), bytearray(), 0
    message_ids: set[str] = set()
    for line in BytesIO(raw):
        if b"[message " in line and not has_too_many_parts(line):
            message_ids |= ids_in_conversation(line)
        if len(line) < _SHORTEST_SECRET:
            waiting += line
        else:
            waiting += masker.mask_text(line.decode(errors="surrogateescape")).encode(errors="surrogateescape")
        if len(waiting) >= PIECE_BYTES:
            size += len(waiting)
            packed += packing.compress(waiting)
            waiting.clear()
    size += len(waiting)
    packed += packing.compress(waiting) + packing.flush()
    return Part(start, len(raw), size, bytes(packed), frozenset(message_ids))


def session_of(raw: bytes) -> str | None:
    """Return the session that the first line of a transcript names."""
    first = raw.partition(b"\n")[0]
    if has_too_many_parts(first):
        return None
    try:
        line = json.loads(first)
    except (ValueError, RecursionError):
        return None
    named = line.get("sessionId") if isinstance(line, dict) else None
    return named if isinstance(named, str) and re.fullmatch(SESSION_ID, named) else None


async def store(
    session: AsyncSession,
    sandbox: Sandbox,
    part: Part,
    *,
    session_id: str,
    now: datetime,
    max_total: int = MAX_TOTAL_BYTES,
) -> int:
    """Store a part and return the total number of received bytes. A part at offset 0 replaces the transcript.

    Raise `Conflict` if the part does not start where the last one ended; the worker then sends everything.
    """
    await repository.lock(session, sandbox.id)
    transcript = await session.get(Transcript, sandbox.id)
    if part.start > 0:
        kept = transcript.received_bytes if transcript and transcript.session_id == session_id else 0
        if transcript is None or kept != part.start:
            raise Conflict(
                f"{kept} bytes of session {session_id} are stored; continue at that offset, or send everything from 0"
            )
    if transcript is None:
        transcript = Transcript(sandbox_id=sandbox.id)
        session.add(transcript)
    if part.start == 0:
        transcript.session_id, transcript.received_bytes, transcript.size_bytes = session_id, 0, 0
        await session.execute(delete(TranscriptPart).where(TranscriptPart.sandbox_id == sandbox.id))
    transcript.received_bytes += part.received
    transcript.size_bytes += part.size
    transcript.updated_at = now
    if transcript.size_bytes > max_total:
        quota = f"{max_total >> 20} MB (OMOI_SANDBOX_TRANSCRIPT_MB)"
        raise TooLarge(f"the transcript of sandbox {sandbox.id} would exceed its quota of {quota}")
    await session.flush()
    session.add(TranscriptPart(sandbox_id=sandbox.id, start=part.start, content=part.packed))
    await session.flush()
    await message_repository.note_kept(session, sandbox, part.message_ids, replaces=part.start == 0)
    return transcript.received_bytes


async def get(session: AsyncSession, sandbox: Sandbox) -> Sequence[Packed]:
    """Return the parts of a sandbox's transcript; raise `NotFound` if there is none."""
    parts = await _parts(session, sandbox.id)
    if not parts:
        raise NotFound(f"sandbox {sandbox.id} has no saved transcript")
    return parts


async def to_resume(session: AsyncSession, sandbox: Sandbox) -> tuple[str, Sequence[Packed]]:
    """Return the session that a sandbox resumes, its own or that of the previous attempt, with its parts.

    Raise `NotFound` if its task or spec has none.
    """
    transcript = await resumed_by(session, sandbox)
    if transcript is None:
        subject = "task" if sandbox.task_id is not None else "spec"
        raise NotFound(f"the {subject} of sandbox {sandbox.id} has no session to resume")
    return transcript.session_id, await _parts(session, transcript.sandbox_id)


async def pieces(sessions: Sessions, parts: Sequence[Packed]) -> AsyncIterator[bytes]:
    """Yield a transcript piece by piece, without holding a session in between.

    Raise `Conflict` if it was replaced meanwhile.
    """
    for part in parts:
        unpacking = zlib.decompressobj()
        for start in range(0, part.size, PIECE_BYTES):
            packed = await _read(sessions, part, start)
            while packed:
                # Repetitive text may be compressed by a factor of a thousand.
                yield await asyncio.to_thread(unpacking.decompress, packed, PIECE_BYTES)
                packed = unpacking.unconsumed_tail
        yield unpacking.flush()


async def _read(sessions: Sessions, part: Packed, start: int) -> bytes:
    size, piece = func.octet_length(TranscriptPart.content), func.substr(TranscriptPart.content, start + 1, PIECE_BYTES)
    query = select(size, piece).where(TranscriptPart.sandbox_id == part.sandbox_id, TranscriptPart.start == part.start)
    async with sessions() as session:
        row = (await session.execute(query)).one_or_none()
    if row is None or row[0] != part.size:
        raise Conflict(f"the transcript of sandbox {part.sandbox_id} was replaced while it was being read; try again")
    content: bytes = row[1]
    return content


async def resumed_by(session: AsyncSession, sandbox: Sandbox) -> Transcript | None:
    """Return the transcript that a sandbox resumes; None if its task or spec has none."""
    query = (
        select(Transcript)
        .join(Sandbox, Sandbox.id == Transcript.sandbox_id)
        .where(repository.with_same_subject(sandbox))
        # Not ordered by time: the transcript of an earlier attempt may be salvaged long after its end.
        .order_by((Transcript.sandbox_id == sandbox.id).desc(), Sandbox.fence.desc())
        .limit(1)
    )
    return (await session.execute(query)).scalar_one_or_none()


async def _parts(session: AsyncSession, sandbox_id: str) -> Sequence[Packed]:
    query = select(TranscriptPart.start, func.octet_length(TranscriptPart.content))
    query = query.where(TranscriptPart.sandbox_id == sandbox_id).order_by(TranscriptPart.start)
    return [Packed(sandbox_id, row[0], row[1]) for row in await session.execute(query)]
