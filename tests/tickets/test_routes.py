"""Tickets over HTTP."""

import asyncio
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI

from omoi_os.bus.base import Topic, Wakeup
from omoi_os.bus.memory import MemoryBus
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from tests.api.conftest import Worker, end_sandbox, post_ticket

HOSTILE = '$(touch /tmp/pwned)"; rm -rf /'


async def test_a_quick_ticket_becomes_one_task_at_once(ada: httpx.AsyncClient) -> None:
    ticket = await post_ticket(ada, title="Calculate binomial coefficient", description="C(50,25)")

    assert (ticket["status"], ticket["spec_id"], ticket["priority"]) == ("backlog", None, "MEDIUM")
    (task,) = ticket["tasks"]
    assert task["branch_name"] == "feature/calculate-binomial-coefficient"
    assert (task["status"], task["attempt"], task["title"]) == ("pending", 1, ticket["title"])
    assert ticket.pop("project_created") is True
    assert (await ada.get(f"/tickets/{ticket['id']}")).json() == ticket


async def test_a_ticket_tells_what_it_has_spent_and_where_agents_are_at_it(
    app: FastAPI, ada: httpx.AsyncClient, worker: Worker
) -> None:
    async with app.state.sessions.begin() as session:
        task = await session.get_one(Task, worker.task_id)
        task.cost_usd, task.tokens = 1.5, 300
    idle = await post_ticket(ada, title="Later")

    busy = next(item for item in (await ada.get("/tickets")).json()["items"] if item["id"] != idle["id"])
    assert (busy["cost_usd"], busy["tokens"], busy["sandboxes_at_work"]) == (1.5, 300, [worker.id])
    assert (idle["cost_usd"], idle["tokens"], idle["sandboxes_at_work"]) == (0, 0, [])

    await end_sandbox(app, worker.id)
    async with app.state.sessions.begin() as session:
        (await session.get_one(Task, worker.task_id)).status = TaskState.FAILED
    assert (await ada.get(f"/tickets/{busy['id']}")).json()["sandboxes_at_work"] == []


async def test_a_new_ticket_wakes_the_dispatcher(ada: httpx.AsyncClient, bus: MemoryBus) -> None:
    async with bus.listen(Topic.WORK) as wakeups:
        assert (await anext(wakeups)).resync
        await post_ticket(ada)
        assert await asyncio.wait_for(anext(wakeups), 5) == Wakeup(Topic.WORK, "")


async def test_a_change_of_a_ticket_wakes_the_dispatcher_for_its_tasks(ada: httpx.AsyncClient, bus: MemoryBus) -> None:
    ticket = await post_ticket(ada)
    async with bus.listen(Topic.WORK) as wakeups:
        await anext(wakeups)
        await ada.patch(f"/tickets/{ticket['id']}", json={"priority": "HIGH"})
        assert await asyncio.wait_for(anext(wakeups), 5) == Wakeup(Topic.WORK, "")


async def test_a_repository_named_twice_is_one_project(ada: httpx.AsyncClient) -> None:
    tickets = await asyncio.gather(*(post_ticket(ada) for _ in range(6)))

    assert len({ticket["project_id"] for ticket in tickets}) == 1
    assert len({ticket["tasks"][0]["branch_name"] for ticket in tickets}) == 6


async def test_hostile_titles_are_only_ever_text(ada: httpx.AsyncClient) -> None:
    ticket = await post_ticket(ada, title=HOSTILE, description=HOSTILE, acceptance=[HOSTILE])

    shown = (await ada.get(f"/tickets/{ticket['id']}")).json()
    assert (shown["title"], shown["description"], shown["acceptance"]) == (HOSTILE, HOSTILE, [HOSTILE])
    assert shown["tasks"][0]["branch_name"] == "feature/touch-tmp-pwned-rm-rf"
    assert not Path("/tmp/pwned").exists()


async def test_a_ticket_for_an_unknown_project_is_not_found(ada: httpx.AsyncClient) -> None:
    answer = await ada.post("/tickets", json={"title": "x", "project_id": str(uuid4())})

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_a_ticket_for_anothers_project_is_not_found(ada: httpx.AsyncClient, bob: httpx.AsyncClient) -> None:
    project_id = (await post_ticket(bob))["project_id"]

    assert (await ada.post("/tickets", json={"title": "x", "project_id": project_id})).status_code == 404


@pytest.mark.parametrize(
    "change",
    [
        {"title": ""},
        {"title": " \t "},
        {"title": "a\nb"},
        {"title": "x" * 301},
        {"title": None},
        {"title": 7},
        {"description": "\u0000"},
        {"priority": "URGENT"},
        {"ticket_type": "epic"},
        {"workflow_mode": "spec_driven"},
        {"workflow_mode": "slow"},
        {"depends_on": ["x"]},
        {"depends_on": [str(uuid4())]},
        {"acceptance": [""]},
        {"acceptance": "make test"},
        {"budget_usd": 0},
        {"project_id": str(uuid4())},
        {"github_repo": None},
        {"github_repo": "../x"},
        {"acceptence": ["make test"]},
    ],
)
async def test_bad_input_is_refused_and_nothing_is_made(ada: httpx.AsyncClient, change: dict[str, object]) -> None:
    body = {"title": "x", "github_owner": "kivo360", "github_repo": "OmoiOS"} | change
    answer = await ada.post("/tickets", json=body)

    assert answer.status_code == 422, answer.text
    assert (await ada.get("/tickets")).json()["items"] == []
    assert (await ada.get("/projects")).json()["items"] == []


async def test_spec_driven_is_refused_with_what_to_do_instead(ada: httpx.AsyncClient) -> None:
    body = {"title": "x", "github_owner": "a", "github_repo": "b", "workflow_mode": "spec_driven"}

    assert "not available yet; leave it out" in (await ada.post("/tickets", json=body)).json()["detail"]


async def test_a_ticket_waits_for_those_it_depends_on(ada: httpx.AsyncClient) -> None:
    first = await post_ticket(ada)
    second = await post_ticket(ada, depends_on=[first["id"]])

    assert second["depends_on"] == [first["id"]]
    assert second["tasks"][0]["status"] == TaskState.BLOCKED
    assert second["tasks"][0]["depends_on"] == [first["tasks"][0]["id"]]
    assert second["status"] == "blocked"


async def test_a_ticket_depends_on_its_own_project_only(ada: httpx.AsyncClient, bob: httpx.AsyncClient) -> None:
    elsewhere = await post_ticket(ada, github_repo="other")
    anothers = await post_ticket(bob)
    for other in (elsewhere, anothers):
        body = {"title": "x", "github_owner": "kivo360", "github_repo": "OmoiOS", "depends_on": [other["id"]]}
        assert (await ada.post("/tickets", json=body)).status_code == 422


async def test_nothing_waits_for_a_cancelled_ticket(ada: httpx.AsyncClient) -> None:
    first = await post_ticket(ada)
    await ada.patch(f"/tickets/{first['id']}", json={"status": "cancelled"})
    body = {"title": "x", "project_id": first["project_id"], "depends_on": [first["id"]]}

    assert (await ada.post("/tickets", json=body)).status_code == 409


async def test_a_change_reaches_the_task_that_has_not_begun(ada: httpx.AsyncClient) -> None:
    ticket = await post_ticket(ada)
    change = {"title": "Add two pages", "description": "more", "priority": "CRITICAL", "budget_usd": 2.5}

    changed = (await ada.patch(f"/tickets/{ticket['id']}", json=change)).json()

    (task,) = changed["tasks"]
    assert (changed["title"], changed["budget_usd"]) == ("Add two pages", 2.5)
    assert (task["title"], task["description"], task["priority"]) == ("Add two pages", "more", "CRITICAL")
    assert task["branch_name"] == ticket["tasks"][0]["branch_name"]


async def test_a_cancelled_ticket_cancels_its_task_and_stays_so(ada: httpx.AsyncClient) -> None:
    ticket = await post_ticket(ada)
    path = f"/tickets/{ticket['id']}"

    for _ in range(2):
        cancelled = await ada.patch(path, json={"status": "cancelled"})
        assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert cancelled.json()["tasks"][0]["status"] == "cancelled"


@pytest.mark.parametrize("change", [{"status": "done"}, {"title": ""}, {"title": None}, {"project_id": str(uuid4())}])
async def test_a_bad_change_is_refused(ada: httpx.AsyncClient, change: dict[str, object]) -> None:
    ticket = await post_ticket(ada)
    del ticket["project_created"]

    assert (await ada.patch(f"/tickets/{ticket['id']}", json=change)).status_code == 422
    assert (await ada.get(f"/tickets/{ticket['id']}")).json() == ticket


async def test_tickets_are_filtered_by_project_and_status(ada: httpx.AsyncClient) -> None:
    first, second = await post_ticket(ada), await post_ticket(ada, github_repo="other")
    await ada.patch(f"/tickets/{second['id']}", json={"status": "cancelled"})

    by_project = (await ada.get("/tickets", params={"project_id": first["project_id"]})).json()["items"]
    by_status = (await ada.get("/tickets", params={"status": "cancelled"})).json()["items"]

    assert [item["id"] for item in by_project] == [first["id"]]
    assert [item["id"] for item in by_status] == [second["id"]]
    assert (await ada.get("/tickets", params={"status": "lost"})).status_code == 422


async def test_tickets_are_filtered_by_priority_type_and_words_of_the_title(ada: httpx.AsyncClient) -> None:
    urgent = await post_ticket(ada, title="Repair the login", priority="CRITICAL", ticket_type="bug")
    plain = await post_ticket(ada, title="100% of the Docs")

    async def found(**params: str) -> list[str]:
        return [item["id"] for item in (await ada.get("/tickets", params=params)).json()["items"]]

    assert await found(priority="CRITICAL") == [urgent["id"]]
    assert await found(ticket_type="bug") == [urgent["id"]]
    assert await found(q="the LOGIN") == [urgent["id"]]
    assert await found(q="100%") == [plain["id"]]
    assert await found(q="%", priority="CRITICAL") == []
    assert (await ada.get("/tickets", params={"q": "\x00"})).status_code == 422
