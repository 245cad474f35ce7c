"""Warnings of the platform: reported by any process, shown by the API, gone when stale."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from fastapi import FastAPI

from omoi_os.config import Settings
from omoi_os.db.base import Sessions, plain_url
from omoi_os.health import warnings
from omoi_os.health.api_warnings import START, Attendance
from omoi_os.health.orchestrator_presence import presence
from tests.api.conftest import calling

NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)


async def _report(sessions: Sessions, *, source: str = "orchestrator 1", message: str = "full", now: datetime) -> None:
    async with sessions.begin() as session:
        await warnings.report(session, key="disk_full", source=source, message=message, now=now)


async def _current(sessions: Sessions, *, now: datetime) -> list[tuple[str, str, datetime]]:
    async with sessions() as session:
        return [(item.key, item.message, item.since) for item in await warnings.current(session, now=now)]


async def test_a_confirmed_warning_keeps_its_beginning_and_has_the_newest_message(sessions: Sessions) -> None:
    await _report(sessions, now=NOON)
    await _report(sessions, message="fuller", now=NOON + timedelta(minutes=4))

    assert await _current(sessions, now=NOON + timedelta(minutes=8)) == [("disk_full", "fuller", NOON)]


async def test_a_warning_that_nobody_confirms_disappears_and_starts_over(sessions: Sessions) -> None:
    await _report(sessions, now=NOON)
    later = NOON + warnings.STALE + timedelta(seconds=1)
    assert await _current(sessions, now=later) == []

    await _report(sessions, now=later)
    assert await _current(sessions, now=later) == [("disk_full", "full", later)]


async def test_each_reporter_clears_its_own_warning(sessions: Sessions) -> None:
    await _report(sessions, now=NOON)
    await _report(sessions, source="orchestrator 2", now=NOON)
    assert len(await _current(sessions, now=NOON)) == 1

    for source, left in (("orchestrator 1", 1), ("nobody", 1), ("orchestrator 2", 0)):
        async with sessions.begin() as session:
            await warnings.clear(session, key="disk_full", source=source)
        assert len(await _current(sessions, now=NOON)) == left


async def test_stale_rows_are_removed(sessions: Sessions) -> None:
    await _report(sessions, now=NOON)
    async with sessions.begin() as session:
        await warnings.delete_stale(session, now=NOON + warnings.STALE)

    assert await _current(sessions, now=NOON) == []


@pytest.mark.parametrize("path", ["/ready", "/api/v1/monitoring/overview"])
async def test_the_api_serves_and_names_the_warning(
    app: FastAPI, settings: Settings, sessions: Sessions, admin: httpx.AsyncClient, path: str
) -> None:
    now = datetime.now(UTC)
    await _report(sessions, message="the disk is full", now=now)

    async with calling(app, admin.headers["authorization"].removeprefix("Bearer "), base="http://omoi") as client:
        answer = await client.get(path)

    assert answer.status_code == 200
    named = {warning["key"]: warning["message"] for warning in answer.json()["warnings"]}
    # On a busy machine the lack of an orchestrator may be named by now.
    named.pop("no_orchestrator", None)
    assert named == {"disk_full": "the disk is full"}


async def test_a_platform_without_an_orchestrator_says_so(sessions: Sessions, database_url: str) -> None:
    attendance = Attendance(started_at=NOON)

    async def keys(now: datetime) -> list[tuple[str, datetime]]:
        async with sessions() as session:
            return [(warning.key, warning.since) for warning in await attendance.warnings(session, now=now)]

    assert await keys(NOON) == []
    started = NOON + START
    assert await keys(started) == [("no_orchestrator", NOON)]
    async with presence(plain_url(database_url)):
        assert await keys(started) == []
