"""A number that a worker leaves out: nothing beyond it is stored, and it is audited if it stays open."""

import asyncio
from datetime import datetime, timedelta

import httpx
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.db.base import Sessions
from omoi_os.masking import Masker
from omoi_os.sandboxes.ingest import gaps
from tests.api.conftest import Worker, working


def numbered(*numbers: int) -> dict[str, object]:
    return {"events": [{"event_type": "agent.message", "event_data": {"n": n}, "seq": n} for n in numbers]}


async def post(worker: Worker, *numbers: int) -> int:
    answer = await worker.client.post(worker.path("/events/batch"), json=numbered(*numbers))
    assert answer.status_code == 200, answer.text
    last: int = answer.json()["last_seq"]
    return last


async def shown(ada: httpx.AsyncClient, worker: Worker) -> tuple[list[int], str | None]:
    """Return the numbers that are stored, and since when one is missing."""
    listed = (await ada.get(worker.path("/events"), params={"event_type": "agent.message", "order": "asc"})).json()
    since: str | None = (await ada.get(worker.path())).json()["gap_since"]
    return [item["event_data"]["n"] for item in listed["items"]], since


async def test_beyond_a_gap_nothing_is_stored_and_the_gap_is_shown_until_it_closes(
    ada: httpx.AsyncClient, worker: Worker
) -> None:
    assert await post(worker, 1, 2, 4, 5) == 2
    stored, since = await shown(ada, worker)
    assert (stored, since is not None) == ([1, 2], True)

    assert await post(worker, 5, 4) == 2
    assert await shown(ada, worker) == ([1, 2], since)

    assert await post(worker, 3, 4, 5) == 5
    assert await shown(ada, worker) == ([1, 2, 3, 4, 5], None)


async def test_a_single_event_beyond_a_gap_shows_it_too(ada: httpx.AsyncClient, worker: Worker) -> None:
    alone = {"event_type": "agent.message", "seq": 2}
    assert (await worker.client.post(worker.path("/events"), json=alone)).status_code == 409
    assert (await shown(ada, worker))[1] is not None

    assert await post(worker, 1) == 1
    assert (await shown(ada, worker))[1] is None


async def test_a_gap_stalls_no_other_sandbox(app: FastAPI, ada: httpx.AsyncClient, worker: Worker) -> None:
    async with working(app, ada) as other:
        answers = await asyncio.gather(
            *(post(worker, n) for n in range(20, 1, -1)), *(post(other, *range(n, 21)) for n in [1] * 5)
        )

        assert answers == [0] * 19 + [20] * 5
        assert await shown(ada, other) == (list(range(1, 21)), None)


async def test_a_gap_that_stays_open_is_audited_once(
    ada: httpx.AsyncClient, admin: httpx.AsyncClient, app: FastAPI, worker: Worker, sessions: Sessions
) -> None:
    async def look(session: AsyncSession, seconds: float) -> list[str]:
        return await gaps.flag(session, now=seen + timedelta(seconds=seconds), masker=Masker())

    async with working(app, ada) as closed:
        await post(closed, 2)
        await post(worker, 1, 3)
        seen = datetime.fromisoformat(str((await shown(ada, worker))[1]))
        async with sessions.begin() as session:
            assert await look(session, 58) == []
        assert await post(closed, 1, 2) == 2
        async with sessions.begin() as session:
            assert await look(session, 61) == [worker.id]
        async with sessions.begin() as session:
            assert await look(session, 120) == []

    (entry,) = (await admin.get("/audit")).json()["items"]
    assert (entry["kind"], entry["actor_id"]) == ("event_gap", worker.id)
    assert entry["detail"].startswith("seq 2 has been missing")
