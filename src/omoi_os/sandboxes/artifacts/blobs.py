"""Blobs: values that are too large for an event, stored by their hash."""

import hashlib
import re
from collections.abc import AsyncIterator

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.db.base import Sessions
from omoi_os.errors import Invalid, TooLarge
from omoi_os.masking import Masker
from omoi_os.sandboxes.models import Sandbox, SandboxBlob

#: Default of the total size of one sandbox's blobs (OMOI_SANDBOX_BLOBS_MB).
MAX_TOTAL_BYTES = 512 * 1024 * 1024

#: How much is read from the database at a time.
PIECE_BYTES = 1024 * 1024

_DIGEST = re.compile(r"[0-9a-f]{64}")


def check(digest: str, content: bytes) -> None:
    """Raise `Invalid` unless this is the content's SHA-256."""
    if not _DIGEST.fullmatch(digest):
        raise Invalid("sha256: must be 64 lower-case hexadecimal digits")
    if hashlib.sha256(content).hexdigest() != digest:
        raise Invalid("sha256: must be the hash of the body; send the bytes again")


def masked(content: bytes, masker: Masker) -> bytes:
    """Return the content with its secrets masked, whatever its encoding."""
    return masker.mask_text(content.decode(errors="surrogateescape")).encode(errors="surrogateescape")


async def store(
    session: AsyncSession, sandbox: Sandbox, digest: str, content: bytes, *, max_total: int = MAX_TOTAL_BYTES
) -> None:
    """Store masked content under the hash of the original. Can be repeated."""
    total = select(func.coalesce(func.sum(func.octet_length(SandboxBlob.content)), 0))
    used = (await session.execute(total.where(SandboxBlob.sandbox_id == sandbox.id))).scalar_one()
    if used + len(content) > max_total:
        quota = f"{max_total >> 20} MB (OMOI_SANDBOX_BLOBS_MB)"
        raise TooLarge(f"the blobs of sandbox {sandbox.id} would exceed their quota of {quota}")
    values = {"sandbox_id": sandbox.id, "sha256": digest, "content": content}
    await session.execute(insert(SandboxBlob).values(values).on_conflict_do_nothing())


async def size_of(session: AsyncSession, sandbox_id: str, digest: object) -> int | None:
    """Return the size of the blob with this hash; None if there is none or it is not a hash."""
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        return None
    query = select(func.octet_length(SandboxBlob.content))
    query = query.where(SandboxBlob.sandbox_id == sandbox_id, SandboxBlob.sha256 == digest)
    return (await session.execute(query)).scalar_one_or_none()


async def pieces(sessions: Sessions, sandbox_id: str, digest: str, size: int) -> AsyncIterator[bytes]:
    """Yield the content piece by piece, without holding a session in between."""
    for start in range(0, size, PIECE_BYTES):
        query = select(func.substr(SandboxBlob.content, start + 1, PIECE_BYTES))
        query = query.where(SandboxBlob.sandbox_id == sandbox_id, SandboxBlob.sha256 == digest)
        async with sessions() as session:
            piece = (await session.execute(query)).scalar_one()
        yield piece
