"""The kept work of an ended sandbox over HTTP."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from fastapi import FastAPI

from omoi_os.sandboxes.models import SandboxSalvage
from tests.api.conftest import Worker, end_sandbox


async def kept(app: FastAPI, worker: Worker, **values: object) -> None:
    """End the sandbox with its work unsaved."""
    async with app.state.sessions.begin() as session:
        given = {"state": "pending", "attempts": 2, "last_error": "the gateway did not answer"} | values
        session.add(SandboxSalvage(sandbox_id=worker.id, **given))
    await end_sandbox(app, worker.id)


async def test_a_sandbox_shows_what_became_of_its_unsaved_work(
    app: FastAPI, ada: httpx.AsyncClient, worker: Worker
) -> None:
    assert (await ada.get(worker.path())).json()["salvage"] is None
    await kept(app, worker)

    shown = (await ada.get(worker.path())).json()["salvage"]

    assert (shown["state"], shown["attempts"]) == ("pending", 2)
    assert shown["last_error"] == "the gateway did not answer"
    assert (await ada.get("/sandboxes")).json()["items"][0]["salvage"] == shown


async def test_kept_work_is_given_up_once_and_with_an_audit_entry(
    app: FastAPI, ada: httpx.AsyncClient, bob: httpx.AsyncClient, admin: httpx.AsyncClient, worker: Worker
) -> None:
    assert (await ada.delete(worker.path("/salvage"))).status_code == 409
    await kept(app, worker, state="kept")
    assert (await bob.delete(worker.path("/salvage"))).status_code == 404
    assert (await worker.client.delete(worker.path("/salvage"))).status_code == 403

    dropped = await ada.delete(worker.path("/salvage"))

    assert (dropped.status_code, dropped.json()["salvage"]["state"]) == (200, "dropped")
    assert (await ada.delete(worker.path("/salvage"))).status_code == 409
    entries = (await admin.get("/audit", params={"kind": "unsaved_work_dropped"})).json()["items"]
    assert [(e["actor_kind"], e["actor_id"], e["subject"]) for e in entries] == [("user", "ada@example.org", worker.id)]
    assert "the gateway did not answer" in entries[0]["detail"]


async def test_kept_work_is_tried_again_when_a_person_asks(
    app: FastAPI, ada: httpx.AsyncClient, worker: Worker
) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    await kept(app, worker, state="kept", next_attempt_at=later)

    asked = await ada.post(worker.path("/salvage"))

    assert asked.status_code == 202
    assert datetime.fromisoformat(asked.json()["salvage"]["next_attempt_at"]) < later


@pytest.mark.parametrize(("lease", "status"), [(timedelta(minutes=1), 200), (timedelta(minutes=-1), 409)])
async def test_the_token_of_an_ended_sandbox_is_good_for_saving_while_that_is_leased(
    app: FastAPI, ada: httpx.AsyncClient, worker: Worker, lease: timedelta, status: int
) -> None:
    await kept(app, worker, lease_owner=1, lease_expires_at=datetime.now(UTC) + lease)

    saved = await worker.client.put(worker.path("/transcript"), content=b'{"sessionId": "one"}\n')
    event = await worker.client.post(worker.path("/events"), json={"event_type": "agent.message"})

    assert (saved.status_code, event.status_code) == (status, 409)
    assert (await worker.client.get(worker.path("/messages"))).status_code == 409
