"""Diffs of one edit or of a whole session."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.db.base import Sessions
from omoi_os.errors import NotFound
from omoi_os.protocol.events import EventType
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.artifacts import blobs
from omoi_os.sandboxes.models import Sandbox, SandboxEvent

#: Edits read at a time.
PAGE = 100

#: Events that contain the diff of the whole session.
_SUMMARIES = (
    EventType.AGENT_COMPLETED,
    EventType.AGENT_FAILED,
    EventType.AGENT_SHUTDOWN,
)

_EVENT_ID = re.compile(r"[A-Za-z0-9._:-]{1,100}")


@dataclass(frozen=True, slots=True)
class Value:
    """A text of an event: inline, or the hash and size of its blob."""

    text: bytes = b""
    digest: str | None = None
    size: int = 0

    async def pieces(self, sessions: Sessions, sandbox_id: str) -> AsyncIterator[bytes]:
        """Yield the text piece by piece."""
        if self.digest is None:
            yield self.text
            return
        async for piece in blobs.pieces(sessions, sandbox_id, self.digest, self.size):
            yield piece


async def of_edit(session: AsyncSession, sandbox: Sandbox, event_id: str) -> Value:
    """Return the full unified diff of one file edit, from the event or from its blob."""
    event = await repository.get_event(session, sandbox.id, event_id) if _EVENT_ID.fullmatch(event_id) else None
    if event is None or event.event_type != EventType.AGENT_FILE_EDITED:
        raise NotFound(f"sandbox {sandbox.id} has no file edit {event_id[:100]!r}")
    found = await _value(session, sandbox, event, "full_diff", "diff_blob")
    if found is None:
        raise NotFound(f"the full diff of event {event_id} is not stored")
    return found


async def whole_session(session: AsyncSession, sandbox: Sandbox) -> Value | None:
    """Return the diff of the whole session; None until its worker has reported it."""
    event = await repository.newest_event(session, sandbox.id, event_types=_SUMMARIES)
    return await _value(session, sandbox, event, "session_diff", "session_diff_blob") if event else None


async def edits(sessions: Sessions, sandbox: Sandbox) -> AsyncIterator[bytes]:
    """Yield the diffs of the edits so far in order, so that they can be applied one after the other."""
    after = 0
    while True:
        async with sessions() as session:
            rows = await repository.list_events(
                session,
                sandbox.id,
                event_type=EventType.AGENT_FILE_EDITED,
                order="asc",
                limit=PAGE,
                cursor_seq=after,
            )
            found = [await _value(session, sandbox, row, "full_diff", "diff_blob") for row in rows]
        if not rows:
            return
        after = rows[-1].seq
        for value in found:
            if value is not None:
                async for piece in value.pieces(sessions, sandbox.id):
                    yield piece


async def _value(session: AsyncSession, sandbox: Sandbox, event: SandboxEvent, inline: str, blob: str) -> Value | None:
    """Return a text of an event, from its blob if it was too large for the row."""
    digest, text = event.event_data.get(blob), event.event_data.get(inline)
    if digest is not None or event.event_data.get(f"{inline}_truncated"):
        size = await blobs.size_of(session, sandbox.id, digest)
        return None if size is None else Value(digest=str(digest), size=size)
    return Value(text.encode(errors="replace")) if isinstance(text, str) else None
