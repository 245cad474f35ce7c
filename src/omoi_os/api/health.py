"""Whether this process lives, and whether it can serve."""

import asyncio
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from fastapi import Depends, Request
from pydantic import Field
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from omoi_os.db import migrate
from omoi_os.errors import NotReady
from omoi_os.health.attendance import Attendance
from omoi_os.health.warnings import WarningOut
from omoi_os.http.deps import AppSettings, DbSession, Now
from omoi_os.http.problems import problems
from omoi_os.http.routers import make_router
from omoi_os.http.shapes import Shown
from omoi_os.system import disk

#: A database that takes longer than this does not answer.
ANSWER_SECONDS = 3.0

router = make_router("", tags=["health"], below="")


class Alive(Shown):
    """The process lives."""

    status: Literal["ok"] = "ok"


class Ready(Shown):
    """The process can serve."""

    status: Literal["ready"] = "ready"
    model: str = Field(description="The model that agents use; `scripted` when a script plays its part.")
    warnings: list[WarningOut] = Field(
        description="Conditions of the platform that need attention, oldest first; the API itself still serves."
    )


async def _attendance(request: Request) -> Attendance:
    attendance: Attendance = request.app.state.attendance
    return attendance


@router.head("/health", include_in_schema=False)
@router.get("/health", summary="Whether the process lives")
async def health() -> Alive:
    """Always answers; looks at nothing else."""
    return Alive()


@router.head("/ready", include_in_schema=False)
@router.get("/ready", summary="Whether the process can serve", responses=problems(503))
async def ready(
    session: DbSession, settings: AppSettings, attendance: Annotated[Attendance, Depends(_attendance)], now: Now
) -> Ready:
    """Answers 200 when the database answers and has the newest schema; `warnings` names what else needs attention."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            is_current = await (await session.connection()).run_sync(_at_head)
            warnings = await attendance.warnings(session, now=now) if is_current else []
    except (SQLAlchemyError, TimeoutError):
        found = disk.space(settings.data_dir, min_free_gb=settings.min_free_gb)
        reason = f": {found.describe()}" if found.is_full else "; check that it runs and that DATABASE_URL is right"
        raise NotReady(f"the database does not answer{reason}") from None
    if not is_current:
        raise NotReady("the database does not have the schema of this version; restart the API to migrate it")
    return Ready(model=settings.model_name, warnings=warnings)


def _at_head(connection: Connection) -> bool:
    return frozenset(MigrationContext.configure(connection).get_current_heads()) == _heads()


@cache
def _heads() -> frozenset[str]:
    return frozenset(ScriptDirectory(str(Path(migrate.__file__).parent / "migrations")).get_heads())
