"""The log of a sandbox: its events as text."""

from collections.abc import AsyncIterator, Sequence

from omoi_os.db.base import Sessions
from omoi_os.sandboxes import repository
from omoi_os.sandboxes.artifacts.wording import render
from omoi_os.sandboxes.models import SandboxEvent
from omoi_os.system.off_loop import off_loop

#: How many events are read at a time, so that a log of any length needs the memory of one page.
PAGE = 500


async def lines(sessions: Sessions, sandbox_id: str, *, after: int, until: int) -> AsyncIterator[str]:
    """Yield the log of the events behind `after` up to `until`, without holding a session between two pages."""
    while after < until:
        async with sessions() as session:
            rows = await repository.list_events(session, sandbox_id, order="asc", limit=PAGE, cursor_seq=after)
        rows = [row for row in rows if row.seq <= until]
        if not rows:
            return
        after = rows[-1].seq
        yield await off_loop(_render, rows)


def _render(rows: Sequence[SandboxEvent]) -> str:
    return "".join(render(row.event_type, row.event_data, at=row.occurred_at) for row in rows)
