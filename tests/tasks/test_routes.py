"""Tasks over HTTP."""

import asyncio
from datetime import UTC, datetime
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI

from omoi_os.tasks import repository, service
from tests.api.conftest import Worker, post_ticket

FIELDS = [
    "id",
    "ticket_id",
    "project_id",
    "title",
    "description",
    "task_type",
    "priority",
    "status",
    "sandbox_id",
    "attempt",
    "max_attempts",
    "depends_on",
    "branch_name",
    "result",
    "error",
    "error_type",
    "verification_requested_at",
    "cost_usd",
    "simulated_cost_usd",
    "cost_simulated",
    "outcome",
    "tokens",
    "created_at",
    "started_at",
    "completed_at",
]


async def fail(app: FastAPI, task_id: str) -> None:
    async with app.state.sessions.begin() as session:
        task = await repository.lock(session, task_id)  # type: ignore[arg-type]
        await service.fail(session, app.state.bus, task, reason="no luck", now=datetime.now(UTC))


async def test_a_task_has_the_fields_of_the_contract(ada: httpx.AsyncClient) -> None:
    (task,) = (await post_ticket(ada))["tasks"]

    assert sorted(task) == sorted(FIELDS)
    assert (await ada.get(f"/tasks/{task['id']}")).json() == task
    assert (await ada.get("/tasks")).json()["items"] == [task]


async def test_a_task_is_added_to_a_ticket_and_waits_for_another(ada: httpx.AsyncClient) -> None:
    ticket = await post_ticket(ada)
    first = ticket["tasks"][0]["id"]
    body = {"ticket_id": ticket["id"], "title": "Document it", "depends_on": [first], "max_attempts": 1}

    added = await ada.post("/tasks", json=body)

    assert added.status_code == 201
    assert (added.json()["status"], added.json()["depends_on"]) == ("blocked", [first])
    assert (added.json()["max_attempts"], added.json()["priority"]) == (1, "MEDIUM")
    assert len((await ada.get(f"/tickets/{ticket['id']}")).json()["tasks"]) == 2


async def test_tasks_of_one_title_made_at_once_get_branches_of_their_own(ada: httpx.AsyncClient) -> None:
    ticket = await post_ticket(ada)
    body = {"ticket_id": ticket["id"], "title": "More"}
    answers = await asyncio.gather(*(ada.post("/tasks", json=body) for _ in range(5)))

    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["branch_name"] for answer in answers}) == 5


@pytest.mark.parametrize(
    "change",
    [
        {"title": " "},
        {"task_type": "magic"},
        {"max_attempts": 0},
        {"depends_on": [str(uuid4())]},
        {"status": "completed"},
        {"ticket_id": "x"},
    ],
)
async def test_bad_tasks_are_refused(ada: httpx.AsyncClient, change: dict[str, object]) -> None:
    ticket = await post_ticket(ada)

    assert (await ada.post("/tasks", json={"ticket_id": ticket["id"], "title": "x"} | change)).status_code == 422
    assert len((await ada.get("/tasks")).json()["items"]) == 1


async def test_a_task_of_an_unknown_or_cancelled_ticket_is_refused(ada: httpx.AsyncClient) -> None:
    ticket = await post_ticket(ada)
    assert (await ada.post("/tasks", json={"ticket_id": str(uuid4()), "title": "x"})).status_code == 404
    await ada.patch(f"/tickets/{ticket['id']}", json={"status": "cancelled"})
    assert (await ada.post("/tasks", json={"ticket_id": ticket["id"], "title": "x"})).status_code == 409


async def test_a_task_is_cancelled_once(ada: httpx.AsyncClient) -> None:
    ticket = await post_ticket(ada)
    path = f"/tasks/{ticket['tasks'][0]['id']}"
    cancelled = await ada.post(f"{path}/cancel")

    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert (await ada.post(f"{path}/cancel")).status_code == 409
    assert (await ada.get(f"/tickets/{ticket['id']}")).json()["status"] == "cancelled"


async def test_only_a_failed_task_is_retried(app: FastAPI, ada: httpx.AsyncClient, worker: Worker) -> None:
    path = f"/tasks/{worker.task_id}"
    assert (await ada.post(f"{path}/retry")).status_code == 409
    await fail(app, worker.task_id)

    retried = await ada.post(f"{path}/retry", json={"message": "Use math.comb."})

    assert (retried.status_code, retried.json()["status"], retried.json()["error"]) == (200, "pending", None)
    assert retried.json()["attempt"] == 2
    assert (await ada.post(f"{path}/retry", json={"message": 7})).status_code == 422


async def test_tasks_are_filtered(ada: httpx.AsyncClient, worker: Worker) -> None:
    waiting = (await post_ticket(ada, github_repo="other"))["tasks"][0]

    async def found(**params: object) -> list[str]:
        answer = await ada.get("/tasks", params=params)  # type: ignore[arg-type]
        return [item["id"] for item in answer.json()["items"]]

    assert await found(status="pending") == [waiting["id"]]
    assert await found(has_sandbox=True) == [worker.task_id]
    assert await found(has_sandbox=False) == [waiting["id"]]
    assert await found(ticket_id=waiting["ticket_id"]) == [waiting["id"]]
    assert await found(project_id=waiting["project_id"], status="assigned") == []
    assert (await ada.get("/tasks", params={"status": "lost"})).status_code == 422
    assert (await ada.get(f"/tasks/{uuid4()}")).status_code == 404


async def test_only_an_ended_task_with_a_commit_and_checks_is_verified_again(
    app: FastAPI, ada: httpx.AsyncClient, worker: Worker
) -> None:
    path = f"/tasks/{worker.task_id}/verify"
    assert "wait until it has ended" in (await ada.post(path)).json()["detail"]
    await fail(app, worker.task_id)
    assert "no stored commit" in (await ada.post(path)).json()["detail"]
    async with app.state.sessions.begin() as session:
        task = await repository.lock(session, worker.task_id)  # type: ignore[arg-type]
        task.result = {"commit_sha": "a" * 40, "verified": True, "checks": []}

    shown = (await ada.get(f"/tasks/{worker.task_id}")).json()["result"]
    refused = await ada.post(path, json={"acceptance": []})
    accepted = await ada.post(path, json={"acceptance": ["true"]})
    twice = await ada.post(path, json={"acceptance": ["true"]})
    await ada.post(f"/tasks/{worker.task_id}/retry")

    assert (shown["verdict"], shown["verified"], shown["changed_checks"]) == ("unchecked", False, [])
    assert (refused.status_code, "has no checks" in refused.json()["detail"]) == (409, True)
    assert (accepted.status_code, accepted.json()["status"]) == (202, "failed")
    assert accepted.json()["verification_requested_at"] is not None
    assert (twice.status_code, "already being verified" in twice.json()["detail"]) == (409, True)
    assert (await ada.get(f"/tasks/{worker.task_id}")).json()["verification_requested_at"] is None
    assert (await ada.post(path, json={"acceptance": [""]})).status_code == 422
