"""The overview's queries read what is open and recent, however much there ever was."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import User
from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.monitoring import repository
from omoi_os.visibility import Role
from tests.builders import a_task, a_user

HISTORY = 20_000


@pytest.fixture
async def owner(sessions: Sessions) -> User:
    """Whose project has a long history: as many ended tasks and sandboxes as one may have in a year."""
    bus = MemoryBus()
    async with sessions.begin() as session:
        task = await a_task(session, bus)
        columns = "ticket_id, project_id, title, description, task_type, priority, priority_rank, attempt, max_attempts"
        more = "linger_seconds, requires_commit, fence, cost_usd, tokens, created_by"
        await session.execute(
            text(
                f"INSERT INTO tasks (id, status, created_at, completed_at, {columns}, {more})"
                f" SELECT gen_random_uuid(), 'completed', now() - interval '60 days', now() - interval '60 days',"
                f" {columns}, {more} FROM tasks, generate_series(1, {HISTORY}) WHERE tasks.id = :id"
            ),
            {"id": task.id},
        )
        await session.execute(
            text(
                "INSERT INTO sandboxes (id, project_id, task_id, provider, site, gateway_socket, purpose, attempt,"
                " fence, status, token_hash, last_seq, acked_seq, event_counts, cost_usd, tokens, created_at, ended_at)"
                " SELECT 'old-' || n, project_id, id, 'local', 'here', 'old', 'work', 1, 1, 'stopped', 'old-' || n, 1,"
                " 1, '{}', 0.1, 10, now() - interval '60 days', now() - interval '60 days'"
                f" FROM tasks, generate_series(1, {HISTORY}) AS n WHERE tasks.id = :id"
            ),
            {"id": task.id},
        )
    async with sessions() as session:
        connection = await session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})
        await connection.execute(text("VACUUM ANALYZE"))
        return await session.get_one(User, task.created_by)


async def _rows_read(session: AsyncSession, ask: Any) -> float:
    """How many rows the plans of the queries that are asked meanwhile read of the two tables."""
    asked: list[tuple[str, Any]] = []
    engine = session.bind.sync_engine  # type: ignore[union-attr]

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        asked.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    try:
        await ask
    finally:
        event.remove(engine, "before_cursor_execute", note)
    read = 0.0
    for statement, parameters in asked:
        raw = await (await session.connection()).exec_driver_sql(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters
        )
        read += _of_plan(raw.scalar_one()[0]["Plan"])
    return read


def _of_plan(plan: dict[str, Any]) -> float:
    own = 0.0
    if plan.get("Relation Name") in ("tasks", "sandboxes"):
        own = (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"]
    return float(own + sum(_of_plan(part) for part in plan.get("Plans", [])))


@pytest.mark.parametrize("whose", ["everyone", "one"])
async def test_no_query_reads_the_history(session: AsyncSession, owner: User, whose: str) -> None:
    user = owner if whose == "one" else await a_user(session, role=Role.ADMIN)
    await session.commit()
    since = datetime.now(UTC) - timedelta(days=13)
    for ask in (
        repository.open_tasks(session, user=user),
        repository.oldest_pending(session, user=user),
        repository.sandboxes(session, user=user, since=since),
        repository.ended_by_day(session, user=user, since=since),
        repository.spent_by_day(session, user=user, since=since),
        repository.alive_by_provider(session, user=user),
    ):
        assert await _rows_read(session, ask) < 10, ask


async def test_a_query_over_the_history_would_be_noticed(session: AsyncSession, owner: User) -> None:
    since = datetime.now(UTC) - timedelta(days=365)

    assert await _rows_read(session, repository.ended_by_day(session, user=owner, since=since)) >= HISTORY
