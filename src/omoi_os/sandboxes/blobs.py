"""Values too large for an event, kept whole and found by their hash."""

import hashlib
import re

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.errors import Invalid, NotFound, TooLarge
from omoi_os.protocol.events import EventType
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.masking import Masker
from omoi_os.sandboxes.models import Sandbox, SandboxBlob

#: What all blobs of one sandbox may add up to.
MAX_TOTAL_BYTES = 512 * 1024 * 1024

_DIGEST = re.compile(r"[0-9a-f]{64}")
_EVENT_ID = re.compile(r"[A-Za-z0-9._:-]{1,100}")


def check(digest: str, content: bytes) -> None:
    """`Invalid` unless this is the content's SHA-256."""
    if not _DIGEST.fullmatch(digest):
        raise Invalid("sha256: must be 64 lower-case hexadecimal digits")
    if hashlib.sha256(content).hexdigest() != digest:
        raise Invalid("sha256: is not the hash of this body; send the bytes again")


def masked(content: bytes, masker: Masker) -> bytes:
    """The content without secrets, whatever its encoding."""
    return masker.mask_text(content.decode(errors="surrogateescape")).encode(errors="surrogateescape")


async def store(session: AsyncSession, sandbox: Sandbox, digest: str, content: bytes) -> None:
    """Keep checked and masked content under the hash of what was sent. Storing it again changes nothing."""
    total = select(func.coalesce(func.sum(func.octet_length(SandboxBlob.content)), 0))
    used = (await session.execute(total.where(SandboxBlob.sandbox_id == sandbox.id))).scalar_one()
    if used + len(content) > MAX_TOTAL_BYTES:
        raise TooLarge(f"the blobs of sandbox {sandbox.id} would exceed {MAX_TOTAL_BYTES} bytes in all")
    values = {"sandbox_id": sandbox.id, "sha256": digest, "content": content}
    await session.execute(insert(SandboxBlob).values(values).on_conflict_do_nothing())


async def full_diff(session: AsyncSession, sandbox: Sandbox, event_id: str) -> bytes:
    """The whole unified diff of one file edit, from the event or from its blob."""
    event = await repository.get_event(session, sandbox.id, event_id) if _EVENT_ID.fullmatch(event_id) else None
    if event is None or event.event_type != EventType.AGENT_FILE_EDITED:
        raise NotFound(f"sandbox {sandbox.id} has no file edit {event_id[:100]!r}")
    inline, digest = event.event_data.get("full_diff"), event.event_data.get("diff_blob")
    if isinstance(inline, str):
        return inline.encode(errors="replace")
    blob = await session.get(SandboxBlob, (sandbox.id, digest)) if _is_digest(digest) else None
    if blob is None:
        raise NotFound(f"the full diff of event {event_id} was not kept")
    return blob.content


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None
