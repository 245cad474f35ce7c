"""Write to the audit trail: the first entry of a kind is stored at once, repetitions are counted."""

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.audit import repository
from omoi_os.audit.models import ActorKind, AuditKind
from omoi_os.db.base import Sessions
from omoi_os.masking import Masker
from omoi_os.printable import one_line

log = logging.getLogger(__name__)

#: How long repetitions of one actor are counted in memory before the count is stored.
PAUSE_SECONDS = 10.0
#: How long a request waits for a slow database.
WRITE_SECONDS = 5.0
#: How many actors and kinds one process counts separately.
MAX_KEYS = 10_000
MAX_SUBJECT, MAX_DETAIL = 200, 500


@dataclass(frozen=True, slots=True)
class Entry:
    """One action of a sandbox and its object. The texts may be hostile."""

    kind: AuditKind
    actor_id: str
    subject: str
    detail: str
    actor_kind: ActorKind = ActorKind.SANDBOX


def foreign(sandbox_id: str, wanted: str, detail: str) -> Entry:
    """Return the entry for a sandbox's token used for another sandbox, or for one that does not exist."""
    return Entry(AuditKind.FOREIGN_SANDBOX, sandbox_id, wanted, detail)


def refused(sandbox_id: str, call: str, reason: str) -> Entry:
    """Return the entry for a call that a sandbox may not make."""
    return Entry(AuditKind.REFUSED_CALL, sandbox_id, call, reason)


async def write(
    session: AsyncSession, entry: Entry, *, masker: Masker, now: datetime, times: int = 1, alone: bool = False
) -> None:
    """Store an entry in the caller's transaction, masked, bounded and on one line.

    With `alone` it is not counted together with others of its actor and kind: each has its own subject and detail.
    """
    values = {
        "kind": entry.kind.value,
        "actor_kind": entry.actor_kind.value,
        "actor_id": one_line(entry.actor_id)[:MAX_SUBJECT],
        "subject": one_line(masker.mask_text(entry.subject))[:MAX_SUBJECT],
        "detail": one_line(masker.mask_text(entry.detail))[:MAX_DETAIL],
    }
    await repository.add(session, values, times=times, now=now, alone=alone)


async def record_action(session: AsyncSession, actor: str, kind: AuditKind, *, subject: str, detail: str) -> None:
    """Record a change by a person, named by e-mail address. Each change is a separate entry."""
    values = {
        "kind": kind.value,
        "actor_kind": ActorKind.USER.value,
        "actor_id": one_line(actor)[:MAX_SUBJECT],
        "subject": one_line(subject)[:MAX_SUBJECT],
        "detail": one_line(detail)[:MAX_DETAIL],
    }
    await repository.add(session, values, times=1, now=datetime.now(UTC), alone=True)


class Trail:
    """Store at most two rows per pause for one actor and kind, however many entries there are."""

    def __init__(self, sessions: Sessions, masker: Masker, *, pause: float = PAUSE_SECONDS) -> None:
        self._sessions, self._masker, self._pause = sessions, masker, pause
        self._counted: dict[tuple[str, str, str], tuple[Entry, int]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def record(self, entry: Entry) -> None:
        """Store or count an entry. A database that does not answer delays no request for long."""
        key = (entry.kind, entry.actor_kind, entry.actor_id)
        if key in self._counted:
            self._counted[key] = entry, self._counted[key][1] + 1
            return
        if len(self._counted) >= MAX_KEYS:
            log.warning("audit: too many actors at once; not stored: %s of %s", entry.kind, one_line(entry.actor_id))
            return
        self._counted[key] = entry, 0
        asyncio.get_running_loop().call_later(self._pause, self._settle, key)
        log.warning("audit: %s by %s %s: %s", entry.kind, entry.actor_kind, entry.actor_id, entry.detail)
        await self._write(entry, times=1)

    async def close(self) -> None:
        """Store the counts that are only in memory."""
        for key in list(self._counted):
            self._settle(key)
        await asyncio.gather(*self._tasks)

    def _settle(self, key: tuple[str, str, str]) -> None:
        entry, times = self._counted.pop(key, (None, 0))
        if entry is not None and times:
            self._start(self._write(entry, times=times))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write(self, entry: Entry, *, times: int) -> None:
        try:
            async with asyncio.timeout(WRITE_SECONDS), self._sessions.begin() as session:
                await write(session, entry, masker=self._masker, now=datetime.now(UTC), times=times)
        except (SQLAlchemyError, OSError, TimeoutError) as error:
            log.warning("audit: %d entries could not be stored: %s", times, error)
