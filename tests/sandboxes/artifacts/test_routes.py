"""What came out of a sandbox, over HTTP: its trajectory, log and diffs; and ad hoc work."""

import asyncio
import hashlib
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select

from omoi_os.bus.base import Topic
from omoi_os.tasks.models import Task
from tests.api.conftest import Worker, post_ticket
from tests.builders import a_work_sandbox


async def say(worker: Worker, event_type: str, **data: Any) -> None:
    body = {"event_type": event_type, "event_data": data, "source": "worker"}
    assert (await worker.client.post(worker.path("/events"), json=body)).status_code == 200


async def test_a_trajectory_leaves_heartbeats_out_and_counts_them(ada: httpx.AsyncClient, worker: Worker) -> None:
    for number in range(3):
        await say(worker, "agent.heartbeat", status="working")
        await say(worker, "agent.message", text=str(number))

    first = (await ada.get(worker.path("/trajectory"), params={"limit": 2, "order": "asc"})).json()
    rest = (
        await ada.get(worker.path("/trajectory"), params={"limit": 500, "order": "asc", "cursor": first["next_cursor"]})
    ).json()

    types = [item["event_type"] for page in (first, rest) for item in page["items"]]
    assert types == ["sandbox.created", *["agent.message"] * 3]
    assert first["total_count"] == 4
    assert first["heartbeat_summary"]["count"] == 3
    assert first["heartbeat_summary"]["first"] <= first["heartbeat_summary"]["last"]


async def test_a_trajectory_may_be_of_one_type(ada: httpx.AsyncClient, worker: Worker) -> None:
    await say(worker, "agent.heartbeat", status="working")
    await say(worker, "agent.message", text="hello")

    async def page(event_type: str) -> tuple[list[str], int]:
        found = (await ada.get(worker.path("/trajectory"), params={"event_type": event_type})).json()
        return [item["event_type"] for item in found["items"]], found["total_count"]

    assert await page("agent.message") == (["agent.message"], 1)
    assert await page("agent.heartbeat") == ([], 0)


async def test_events_are_listed_from_any_number_on_both_ways(ada: httpx.AsyncClient, worker: Worker) -> None:
    for number in range(6):
        await say(worker, "agent.message", text=str(number))

    async def page(**params: str | int) -> dict[str, Any]:
        return dict((await ada.get(worker.path("/events"), params={"limit": 2, **params})).json())

    older = await page(beyond=5)
    newer = await page(beyond=5, order="asc")
    oldest = await page(beyond=5, cursor=older["next_cursor"])

    assert [[item["seq"] for item in each["items"]] for each in (older, newer, oldest)] == [[4, 3], [6, 7], [2, 1]]
    assert (newer["next_cursor"], (await page(beyond=1))["items"]) == (None, [])
    assert (await ada.get(worker.path("/events"), params={"beyond": -1})).status_code == 422


async def test_a_log_reads_as_text_and_moves_no_terminal(ada: httpx.AsyncClient, worker: Worker) -> None:
    await say(worker, "agent.tool_use", tool="Bash", tool_use_id="t", input={"command": "make test"})
    hostile = "one\x1b]52;c;aGk=\x07\ntwo \u202etxt\x9b31m"
    await say(worker, "agent.tool_completed", tool="Bash", tool_use_id="t", is_error=False, output=hostile)

    answer = await ada.get(worker.path("/logs"))

    assert answer.headers["content-type"].startswith("text/plain")
    assert "agent.tool_use Bash make test\n" in answer.text
    assert "    one\\x1b]52;c;aGk=\\x07\n    two \\u202etxt\\x9b31m\n" in answer.text
    assert len((await ada.get(worker.path("/logs"), params={"tail": 1})).text.splitlines()) == 3


async def test_the_session_so_far_is_its_edits_and_in_the_end_one_diff(ada: httpx.AsyncClient, worker: Worker) -> None:
    await say(worker, "agent.file_edited", full_diff="--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n")
    await say(worker, "agent.file_edited", full_diff="--- a/x\n+++ b/x\n@@ -1 +1 @@\n-2\n+3\n")
    so_far = (await ada.get(worker.path("/diff"))).text
    whole = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+3\n"
    digest = hashlib.sha256(whole.encode()).hexdigest()
    await worker.client.put(worker.path(f"/blobs/{digest}"), content=whole)
    await say(
        worker, "agent.failed", error="x", session_diff="--- a", session_diff_truncated=True, session_diff_blob=digest
    )

    assert so_far.count("@@ -1 +1 @@") == 2
    assert (await ada.get(worker.path("/diff"))).text == whole
    assert (await ada.get(worker.path(f"/blobs/{digest}"))).text == whole


async def test_outcomes_are_for_those_who_may_see_the_sandbox(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, worker: Worker
) -> None:
    for path in ("/trajectory", "/logs", "/diff", f"/blobs/{'0' * 64}"):
        assert (await bob.get(worker.path(path))).status_code == 404
        assert (await worker.client.get(worker.path(path))).status_code == 403


async def test_an_ad_hoc_order_is_a_task_and_tells_its_sandbox(app: FastAPI, ada: httpx.AsyncClient) -> None:
    project_id = (await post_ticket(ada))["project_id"]

    async def claim() -> str:
        async with app.state.bus.listen(Topic.TASKS) as wakeups:
            listening.set()
            async for _ in wakeups:
                async with app.state.sessions.begin() as session:
                    query = select(Task).where(Task.linger_seconds > 0)
                    task = (await session.execute(query)).scalar_one_or_none()
                    if task is None:
                        continue
                    sandbox, _ = await a_work_sandbox(session, app.state.bus, task, now=datetime.now(UTC))
                return sandbox.id
        raise AssertionError

    listening = asyncio.Event()
    claiming = asyncio.create_task(claim())
    await listening.wait()
    body = {"project_id": project_id, "prompt": "\n  Explain\x1b this\nin detail", "model": "m", "budget_usd": 1.5}
    answer = await ada.post("/sandboxes", json=body, headers={"Idempotency-Key": "lost"})

    assert answer.status_code == 201
    ordered = answer.json()
    assert ordered["sandbox_id"] == await claiming
    again = await ada.post("/sandboxes", json=body, headers={"Idempotency-Key": "lost"})
    assert (again.headers["idempotent-replayed"], again.json()) == ("true", ordered)
    task = (await ada.get(f"/tasks/{ordered['task_id']}")).json()
    assert (task["title"], task["description"], task["max_attempts"]) == ("Explain  this", body["prompt"], 1)
    assert (await ada.get(f"/tickets/{ordered['ticket_id']}")).json()["budget_usd"] == 1.5


async def test_an_order_for_another_ones_project_is_refused(ada: httpx.AsyncClient, bob: httpx.AsyncClient) -> None:
    project_id = (await post_ticket(ada))["project_id"]
    assert (await bob.post("/sandboxes", json={"project_id": project_id, "prompt": "x"})).status_code == 404


@pytest.mark.parametrize("prompt", ["", " \n\t"])
async def test_an_order_of_nothing_is_refused(ada: httpx.AsyncClient, prompt: str) -> None:
    project_id = (await post_ticket(ada))["project_id"]
    answer = await ada.post("/sandboxes", json={"project_id": project_id, "prompt": prompt})

    assert (answer.status_code, answer.json()["detail"]) == (422, "prompt: must not be blank")


async def test_a_known_event_carries_what_its_type_says_and_an_unknown_one_is_marked(
    ada: httpx.AsyncClient, worker: Worker
) -> None:
    wrong = {"event_type": "agent.tool_use", "event_data": {"tool": 3}}
    assert (await worker.client.post(worker.path("/events"), json=wrong)).status_code == 422
    batch = {"events": [wrong | {"seq": 1}, {"event_type": "agent.dreamed", "event_data": {"tool": 3}, "seq": 2}]}
    received = (await worker.client.post(worker.path("/events/batch"), json=batch)).json()

    items = (await ada.get(worker.path("/events"), params={"limit": 2})).json()["items"]

    assert (received["accepted"], received["last_seq"]) == (1, 2)
    assert "tool" in received["rejected"][0]["reason"]
    assert [(item["event_type"], item["known"]) for item in items] == [("agent.dreamed", False), ("rejected", False)]
