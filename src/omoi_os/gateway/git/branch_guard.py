"""Keeps a task's branch from moving after the task has left `running`.

The state is checked twice: before a push is received, and again while git holds the ref's lock, because a push may take
long.
"""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from omoi_os.db.base import Sessions
from omoi_os.forges.smart_http.ref_guard import Decide, RefUpdate
from omoi_os.gateway.callers import Caller
from omoi_os.sandboxes.lifecycle import ENDED
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task

#: States in which the agent works. A worker may push before its first event has arrived.
_OPEN = frozenset({TaskState.ASSIGNED, TaskState.RUNNING})


async def why_closed(sessions: Sessions, caller: Caller) -> str | None:
    """Return why the task's branch may no longer move, or None. Always reads the database."""
    query = select(Task.status, Task.fence, Sandbox.fence, Sandbox.status).join(Sandbox, Sandbox.task_id == Task.id)
    async with sessions() as session:
        row = (await session.execute(query.where(Sandbox.id == caller.sandbox_id))).one_or_none()
    if row is None or row[1] != row[2] or row[3] in ENDED:
        return "this sandbox has ended or was superseded"
    if row[0] not in _OPEN:
        return f"the task is {row[0]}, so its branch no longer changes: push unfinished work to wip/{caller.task_id}"
    return None


def branch_stays_open(sessions: Sessions, caller: Caller, *, commit: str) -> Decide:
    """Return the decision on a push that moves the task's branch to `commit`: it may while the task is open."""
    own = f"refs/heads/{caller.branch}"

    async def decide(updates: Sequence[RefUpdate]) -> str | None:
        if not any(update.ref == own and update.new == commit for update in updates):
            return None
        try:
            return await why_closed(sessions, caller)
        except (SQLAlchemyError, OSError):
            return "the platform's database does not respond; push again"

    return decide
