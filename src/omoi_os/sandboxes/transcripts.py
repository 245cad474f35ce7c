"""The agent's conversation, part by part and compressed in the database, so that another sandbox can resume it."""

import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.errors import Conflict, NotFound, TooLarge
from omoi_os.protocol.messages import ids_in_conversation
from omoi_os.sandboxes import message_repository, repository
from omoi_os.sandboxes.masking import Masker
from omoi_os.sandboxes.models import Sandbox, Transcript, TranscriptPart

SESSION_ID = r"^[A-Za-z0-9_-]{1,100}$"
#: What one conversation may add up to.
MAX_TOTAL_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Part:
    """What a worker adds to its conversation: where it begins in its file, and what is kept of it."""

    start: int
    received: int
    size: int
    packed: bytes
    #: The messages that it carries.
    message_ids: frozenset[str] = frozenset()


def pack(raw: bytes, masker: Masker, *, start: int) -> Part:
    """A part without secrets, compressed. Each line is masked by itself, so that every line stays one JSON value."""
    lines = raw.decode(errors="surrogateescape").split("\n")
    text = "\n".join(masker.mask_text(line) for line in lines).encode(errors="surrogateescape")
    return Part(start, len(raw), len(text), zlib.compress(text), frozenset(ids_in_conversation(raw)))


def session_of(raw: bytes) -> str | None:
    """The session that the first line of a conversation names."""
    try:
        line = json.loads(raw.partition(b"\n")[0])
    except (ValueError, RecursionError):
        return None
    named = line.get("sessionId") if isinstance(line, dict) else None
    return named if isinstance(named, str) and re.fullmatch(SESSION_ID, named) else None


def unpack(parts: Sequence[bytes]) -> bytes:
    """The conversation, whole again."""
    return b"".join(zlib.decompress(part) for part in parts)


async def store(session: AsyncSession, sandbox: Sandbox, part: Part, *, session_id: str, now: datetime) -> int:
    """Add a part and return how much is kept. A part that begins at 0 replaces what was there.

    `Conflict` when it does not begin where the last one ended: the worker then sends everything.
    """
    await repository.lock(session, sandbox.id)
    transcript = await session.get(Transcript, sandbox.id)
    if part.start > 0:
        kept = transcript.received_bytes if transcript and transcript.session_id == session_id else 0
        if transcript is None or kept != part.start:
            raise Conflict(f"{kept} bytes of session {session_id} are kept; send it from the beginning, or from there")
    if transcript is None:
        transcript = Transcript(sandbox_id=sandbox.id, task_id=sandbox.task_id)
        session.add(transcript)
    if part.start == 0:
        transcript.session_id, transcript.received_bytes, transcript.size_bytes = session_id, 0, 0
        await session.execute(delete(TranscriptPart).where(TranscriptPart.sandbox_id == sandbox.id))
    transcript.received_bytes += part.received
    transcript.size_bytes += part.size
    transcript.updated_at = now
    if transcript.size_bytes > MAX_TOTAL_BYTES:
        raise TooLarge(f"the transcript of sandbox {sandbox.id} would exceed {MAX_TOTAL_BYTES} bytes in all")
    await session.flush()
    session.add(TranscriptPart(sandbox_id=sandbox.id, start=part.start, content=part.packed))
    await session.flush()
    await message_repository.note_kept(session, sandbox, part.message_ids, replaces=part.start == 0)
    return transcript.received_bytes


async def get(session: AsyncSession, sandbox: Sandbox) -> Sequence[bytes]:
    """The parts of a sandbox's conversation; `NotFound` when none was saved."""
    parts = await _parts(session, sandbox.id)
    if not parts:
        raise NotFound(f"sandbox {sandbox.id} has saved no transcript")
    return parts


async def to_resume(session: AsyncSession, sandbox: Sandbox) -> tuple[str, Sequence[bytes]]:
    """The session that a sandbox goes on with, and its parts: its own, else that of the attempt before it.

    `NotFound` when its task has none.
    """
    transcript = await resumed_by(session, sandbox)
    if transcript is None:
        raise NotFound(f"the task of sandbox {sandbox.id} has no session to resume")
    return transcript.session_id, await _parts(session, transcript.sandbox_id)


async def resumed_by(session: AsyncSession, sandbox: Sandbox) -> Transcript | None:
    """Return the conversation that a sandbox goes on with; None when its task has none."""
    query = (
        select(Transcript)
        .join(Sandbox, Sandbox.id == Transcript.sandbox_id)
        .where(Transcript.task_id == sandbox.task_id)
        # Not by time: the conversation of an earlier attempt may be saved long after its end.
        .order_by((Transcript.sandbox_id == sandbox.id).desc(), Sandbox.fence.desc())
        .limit(1)
    )
    return (await session.execute(query)).scalar_one_or_none()


async def _parts(session: AsyncSession, sandbox_id: str) -> Sequence[bytes]:
    query = select(TranscriptPart.content).where(TranscriptPart.sandbox_id == sandbox_id).order_by(TranscriptPart.start)
    return (await session.execute(query)).scalars().all()
