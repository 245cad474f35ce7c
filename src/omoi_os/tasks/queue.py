"""Selects the tasks to claim next, shared fairly between projects."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import DateTime, Integer, Select, Uuid, bindparam, select, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from omoi_os.projects.models import Project
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from omoi_os.tickets.models import Ticket

#: How many more candidates than free slots are read, because other transactions may have locked some.
SPARE = 10

#: Each free slot goes to the project with the fewest active tasks for its weight; among several, to the one with the
#: least recent claim. Within a project the task with the higher priority goes first, then the older one. So a project
#: gets its share whatever the number, age or priority of other projects' tasks.
#:
#: `waiting` steps from project to project through ix_tasks_turn, and each of them contributes a few tasks from the
#: start of its part of that index: the cost does not depend on how many tasks are pending.
_CANDIDATES = """
WITH RECURSIVE waiting AS (
    (SELECT project_id FROM tasks WHERE status = 'pending' ORDER BY project_id LIMIT 1)
    UNION ALL
    SELECT (
        SELECT next.project_id FROM tasks next
        WHERE next.status = 'pending' AND next.project_id > waiting.project_id
        ORDER BY next.project_id LIMIT 1
    )
    FROM waiting WHERE waiting.project_id IS NOT NULL
),
active AS (
    SELECT project_id, count(*)::int AS count FROM tasks
    WHERE status IN ('assigned', 'running', 'verifying') GROUP BY project_id
),
total AS (SELECT coalesce(sum(count), 0)::int AS count FROM active)
SELECT
    candidate.id AS id,
    project.active AS active_in_project,
    total.count AS active,
    row_number() OVER (
        ORDER BY
            (project.active + candidate.place)::float / project.weight,
            project.claimed_at NULLS FIRST,
            candidate.priority_rank DESC,
            candidate.id
    ) AS turn
FROM total
CROSS JOIN LATERAL (
    SELECT
        projects.id,
        coalesce(active.count, 0) AS active,
        coalesce(substring(projects.settings ->> 'max_concurrent_tasks' FROM '^[0-9]{1,8}$')::int, 5) AS most,
        greatest(1, coalesce(substring(projects.settings ->> 'weight' FROM '^[0-9]{1,8}$')::int, 1)) AS weight,
        project_turns.claimed_at
    FROM waiting
    JOIN projects ON projects.id = waiting.project_id
    LEFT JOIN active ON active.project_id = projects.id
    LEFT JOIN project_turns ON project_turns.project_id = projects.id
    WHERE projects.id <> ALL(:without)
) project
CROSS JOIN LATERAL (
    SELECT first.id, first.priority_rank, row_number() OVER (ORDER BY first.priority_rank DESC, first.id) AS place
    FROM (
        SELECT tasks.id, tasks.priority_rank FROM tasks
        WHERE tasks.status = 'pending' AND tasks.project_id = project.id
            AND (tasks.not_before IS NULL OR tasks.not_before <= :now)
        ORDER BY tasks.priority_rank DESC, tasks.id
        LIMIT greatest(0, least(project.most - project.active, :limit - total.count)) + :spare
    ) first
) candidate
WHERE total.count < :limit AND project.active < project.most
ORDER BY turn
LIMIT :limit + :spare
"""


@dataclass(frozen=True, slots=True)
class Ready:
    """A task that can run next. Its row and its ticket's are locked."""

    task: Task
    ticket: Ticket
    project: Project
    #: Whether the ticket has no other task.
    alone: bool
    #: Number of active tasks: in its project, and in total.
    active_in_project: int
    active: int


def _ready_query() -> Select[Task, Ticket, Project, bool, int, int]:
    candidates = (
        text(_CANDIDATES)
        .bindparams(bindparam("without", type_=ARRAY(Uuid)))
        .columns(id=Uuid, active_in_project=Integer, active=Integer, turn=Integer)
        .subquery("candidates")
    )
    other = aliased(Task)
    # With this order the query uses the index and stops at the first other task of the ticket.
    second = select(other.id).where(other.ticket_id == Task.ticket_id, other.id != Task.id).order_by(other.id).limit(1)
    alone = second.correlate(Task).scalar_subquery().is_(None)
    return (
        select(Task, Ticket, Project, alone, candidates.c.active_in_project, candidates.c.active)
        .join_from(candidates, Task, Task.id == candidates.c.id)
        .join(Ticket, Ticket.id == Task.ticket_id)
        .join(Project, Project.id == Task.project_id)
        .order_by(candidates.c.turn)
        .with_for_update(of=(Task, Ticket), key_share=True, skip_locked=True)
        .execution_options(populate_existing=True)
    )


READY = _ready_query()

_RECORD_TURNS = text(
    """
    INSERT INTO project_turns (project_id, claimed_at) SELECT project_id, :now FROM unnest(:project_ids) AS project_id
    ON CONFLICT (project_id) DO UPDATE SET claimed_at = excluded.claimed_at
    """
).bindparams(bindparam("project_ids", type_=ARRAY(Uuid)), bindparam("now", type_=DateTime(timezone=True)))


async def ready_tasks(
    session: AsyncSession, *, now: datetime, without: Collection[UUID], limit: int
) -> Sequence[Ready]:
    """Return the tasks to run next, in the order of their turns, a few more than there are free slots.

    `without` are projects to leave out, `limit` is the limit of all active tasks. Tasks that another transaction has
    locked are left out too; its commit announces them.
    """
    values = {"now": now, "without": list(without), "limit": limit, "spare": SPARE}
    rows = (await session.execute(READY, values)).all()
    # A task that changed before it was locked is not pending any more.
    return [Ready(*row) for row in rows if row[0].status == TaskState.PENDING]


async def record_turns(session: AsyncSession, project_ids: Collection[UUID], *, now: datetime) -> None:
    """Record that tasks of these projects were claimed, so that other projects are next."""
    await session.execute(_RECORD_TURNS, {"project_ids": list(project_ids), "now": now})
