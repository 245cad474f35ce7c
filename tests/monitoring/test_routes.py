"""The overview over HTTP."""

from datetime import UTC, datetime, timedelta

import httpx
from fastapi import FastAPI

from omoi_os.config import Settings
from omoi_os.db.base import Sessions, plain_url
from omoi_os.health.orchestrator_presence import presence
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from tests.api.conftest import Worker, end_sandbox, post_ticket, working


async def test_an_empty_platform_has_an_overview_that_names_every_state(
    admin: httpx.AsyncClient, settings: Settings
) -> None:
    answer = await admin.get("/monitoring/overview")
    shown = answer.json()

    assert answer.status_code == 200
    assert shown["queue"] == {
        "by_status": dict.fromkeys(["blocked", "pending", "assigned", "running", "verifying"], 0),
        "oldest_pending_seconds": None,
    }
    assert shown["sandboxes"] == {"by_status": {str(state): 0 for state in SandboxState}, "days": 14}
    assert len(shown["days"]) == 14
    assert shown["days"][-1]["date"] == datetime.now(UTC).date().isoformat()
    assert {(day["completed"], day["failed"], day["cost_usd"], day["tokens"]) for day in shown["days"]} == {
        (0, 0, 0, 0)
    }
    assert [(item["name"], item["default"], item["alive"]) for item in shown["providers"]] == [("local", True, 0)]
    assert shown["processes"] == []
    assert shown["versions"]["model"] == settings.model_name
    assert shown["versions"]["postgres"][0].isdigit()


async def test_the_queue_tells_what_waits_and_for_how_long(ada: httpx.AsyncClient, sessions: Sessions) -> None:
    first = await post_ticket(ada)
    await post_ticket(ada, depends_on=[first["id"]])
    async with sessions.begin() as session:
        task = await session.get_one(Task, first["tasks"][0]["id"])
        task.created_at = datetime.now(UTC) - timedelta(hours=1)

    queue = (await ada.get("/monitoring/overview")).json()["queue"]

    assert {state: number for state, number in queue["by_status"].items() if number} == {"pending": 1, "blocked": 1}
    assert 3600 <= queue["oldest_pending_seconds"] < 3700


async def test_days_tell_what_ended_and_what_was_spent(
    app: FastAPI, admin: httpx.AsyncClient, ada: httpx.AsyncClient, sessions: Sessions, worker: Worker
) -> None:
    now = datetime.now(UTC)
    async with working(app, ada, title="Another") as other, working(app, ada, title="A third") as third:
        ends = {
            worker: (TaskState.COMPLETED, now),
            other: (TaskState.FAILED, now - timedelta(days=1)),
            third: (TaskState.COMPLETED, now - timedelta(days=14)),
        }
        for one, (state, moment) in ends.items():
            await end_sandbox(app, one.id)
            async with sessions.begin() as session:
                task, sandbox = await session.get_one(Task, one.task_id), await session.get_one(Sandbox, one.id)
                task.status, task.completed_at = state, moment
                sandbox.created_at, sandbox.cost_usd, sandbox.tokens = moment, 0.25, 100

    for caller in (admin, ada):
        shown = (await caller.get("/monitoring/overview")).json()
        counted = [(day["completed"], day["failed"], day["cost_usd"], day["tokens"]) for day in shown["days"]]
        assert counted == [(0, 0, 0, 0)] * 12 + [(0, 1, 0.25, 100), (1, 0, 0.25, 100)]
        assert shown["sandboxes"]["by_status"]["stopped"] == 2


async def test_everyone_counts_only_what_they_may_see(
    admin: httpx.AsyncClient, ada: httpx.AsyncClient, bob: httpx.AsyncClient, worker: Worker
) -> None:
    alive = []
    for caller in (admin, ada, bob):
        shown = (await caller.get("/monitoring/overview")).json()
        alive.append((shown["sandboxes"]["by_status"]["creating"], shown["queue"]["by_status"]["assigned"]))
        assert shown["providers"][0]["alive"] == alive[-1][0]

    assert alive == [(1, 1), (1, 1), (0, 0)]
    assert (await worker.client.get("/monitoring/overview")).status_code == 403


async def test_an_orchestrator_that_lives_is_shown(admin: httpx.AsyncClient, database_url: str) -> None:
    async with presence(plain_url(database_url)):
        (process,) = (await admin.get("/monitoring/overview")).json()["processes"]

    assert process["name"] == "orchestrator"
    assert datetime.fromisoformat(process["since"]) <= datetime.now(UTC)
