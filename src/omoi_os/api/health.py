"""Liveness and readiness of the API process."""

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

from omoi_os.credentials.resolver import installation_model
from omoi_os.db import migrate
from omoi_os.errors import NotReady
from omoi_os.health.api_warnings import Attendance
from omoi_os.health.warnings import WarningOut
from omoi_os.http.deps import AppSettings, DbSession, Now
from omoi_os.http.problems import problems
from omoi_os.http.routers import make_router
from omoi_os.http.shapes import Shown
from omoi_os.system import disk

#: A database that takes longer than this is reported as not available.
ANSWER_SECONDS = 3.0

router = make_router("", tags=["health"], below="")


class Alive(Shown):
    """The process is running."""

    status: Literal["ok"] = Field("ok", description="Always `ok`.")


class Ready(Shown):
    """The process can serve requests."""

    status: Literal["ready"] = Field("ready", description="Always `ready`.")
    model: str = Field(description="The model that agents use; `scripted` is the built-in scripted model.")
    warnings: list[WarningOut] = Field(
        description="Conditions of the platform that need attention, oldest first. The API works nevertheless."
    )


async def _attendance(request: Request) -> Attendance:
    attendance: Attendance = request.app.state.attendance
    return attendance


@router.head("/health", include_in_schema=False)
@router.get("/health", summary="Check that the API is running")
async def health() -> Alive:
    """Answer 200 while the process is running, whatever the state of the database."""
    return Alive()


@router.head("/ready", include_in_schema=False)
@router.get("/ready", summary="Check that the API can serve requests", responses=problems(503))
async def ready(
    session: DbSession, settings: AppSettings, attendance: Annotated[Attendance, Depends(_attendance)], now: Now
) -> Ready:
    """Answer 200 if the database is available and has the schema of this version.

    `warnings` lists other conditions that need attention.
    """
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            is_current = await (await session.connection()).run_sync(_at_head)
            warnings = await attendance.warnings(session, now=now) if is_current else []
            model = await installation_model(session, settings) if is_current else ""
    except (SQLAlchemyError, TimeoutError):
        found = disk.space(settings.data_dir, min_free_gb=settings.min_free_gb)
        reason = (
            f": {found.describe()}" if found.is_full else "; check that it is running and that DATABASE_URL is correct"
        )
        raise NotReady(f"the database is not available{reason}") from None
    if not is_current:
        raise NotReady("the database does not have the schema of this version; restart the API to migrate it")
    return Ready(model=model, warnings=warnings)


def _at_head(connection: Connection) -> bool:
    return frozenset(MigrationContext.configure(connection).get_current_heads()) == _heads()


@cache
def _heads() -> frozenset[str]:
    return frozenset(ScriptDirectory(str(Path(migrate.__file__).parent / "migrations")).get_heads())
