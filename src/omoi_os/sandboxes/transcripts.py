"""The agent's conversation, compressed in the database, so that another sandbox can resume it."""

import zlib
from datetime import datetime

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.errors import NotFound
from omoi_os.sandboxes.masking import Masker
from omoi_os.sandboxes.models import Sandbox, Transcript


def pack(raw: bytes, masker: Masker) -> tuple[bytes, int]:
    """The transcript without secrets, compressed, and its size before that.

    Each line is masked by itself, so that every line stays one JSON value.
    """
    lines = raw.decode(errors="surrogateescape").split("\n")
    text = "\n".join(masker.mask_text(line) for line in lines).encode(errors="surrogateescape")
    return zlib.compress(text), len(text)


def unpack(content: bytes) -> bytes:
    """The inverse of `pack`."""
    return zlib.decompress(content)


async def store(
    session: AsyncSession, sandbox: Sandbox, *, session_id: str, packed: bytes, size: int, now: datetime
) -> None:
    """Keep the newest state of a sandbox's conversation."""
    values = {
        "sandbox_id": sandbox.id,
        "task_id": sandbox.task_id,
        "session_id": session_id,
        "content": packed,
        "size_bytes": size,
        "updated_at": now,
    }
    statement = insert(Transcript).values(values)
    changed = {name: statement.excluded[name] for name in ("session_id", "content", "size_bytes", "updated_at")}
    await session.execute(statement.on_conflict_do_update(index_elements=[Transcript.sandbox_id], set_=changed))


async def get(session: AsyncSession, sandbox: Sandbox) -> Transcript:
    """A sandbox's conversation; `NotFound` when none was saved."""
    transcript = await session.get(Transcript, sandbox.id)
    if transcript is None:
        raise NotFound(f"sandbox {sandbox.id} has saved no transcript")
    return transcript
