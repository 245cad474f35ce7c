"""Sandboxes over HTTP: what people see of them and what their workers report."""

import asyncio
import hashlib
import json
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select

from omoi_os.sandboxes.models import SandboxBlob
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks import service as tasks
from omoi_os.tasks.lifecycle import EndCause
from tests.api.conftest import MODEL_KEY, Worker, calling, end_sandbox, working
from tests.builders import a_work_sandbox

FIELDS = [
    "id",
    "provider",
    "provider_ref",
    "purpose",
    "task_id",
    "attempt",
    "fence",
    "status",
    "last_heartbeat_at",
    "last_work_at",
    "last_seq",
    "end_reason",
    "created_at",
    "ended_at",
    "cost_usd",
    "tokens",
    "project_id",
]
MORE = [
    "cost_simulated",
    "cpu_seconds",
    "disk_bytes",
    "event_counts",
    "gap_since",
    "memory_bytes",
    "model",
    "outcome",
    "pids",
    "pruned_at",
    "salvage",
    "simulated_cost_usd",
    "spec_id",
    "task_title",
]


async def listed(client: httpx.AsyncClient, worker: Worker, **params: str) -> list[dict[str, object]]:
    """What the worker has reported, oldest first."""
    page = (await client.get(worker.path("/events"), params={"order": "asc", "limit": "500"} | params)).json()
    return [item for item in page["items"] if not item["event_type"].startswith("sandbox.")]


async def test_a_sandbox_is_shown_with_the_fields_of_the_contract(ada: httpx.AsyncClient, worker: Worker) -> None:
    shown = (await ada.get(worker.path())).json()

    assert sorted(shown) == sorted([*FIELDS, *MORE])
    assert (shown["id"], shown["task_id"], shown["status"]) == (worker.id, worker.task_id, "creating")
    assert (await ada.get("/sandboxes")).json()["items"] == [shown]
    assert (await ada.get("/sandboxes/health")).json() == {"status": "ok"}


async def test_sandboxes_are_filtered(ada: httpx.AsyncClient, worker: Worker) -> None:
    project_id = (await ada.get(worker.path())).json()["project_id"]
    for params, count in (
        ({"status": "creating"}, 1),
        ({"status": "lost"}, 0),
        ({"task_id": worker.task_id}, 1),
        ({"task_id": str(uuid4())}, 0),
        ({"project_id": project_id}, 1),
    ):
        assert len((await ada.get("/sandboxes", params=params)).json()["items"]) == count


async def test_sandboxes_are_found_by_the_beginning_of_their_id_or_a_part_of_what_they_are_for(
    app: FastAPI, ada: httpx.AsyncClient, bob: httpx.AsyncClient, worker: Worker
) -> None:
    async with working(app, ada, title="Count to 100%_") as other:
        for wanted, found in (
            (worker.id, [worker.id]),
            (worker.id[:10].upper(), [worker.id]),
            (worker.id[4:], []),
            (" a PAGE ", [worker.id]),
            ("100%_", [other.id]),
            ("%", [other.id]),
            ("", [other.id, worker.id]),
        ):
            page = (await ada.get("/sandboxes", params={"q": wanted})).json()
            assert [item["id"] for item in page["items"]] == found, wanted
        assert (await bob.get("/sandboxes", params={"q": "omoios"})).json()["items"] == []
        assert (await ada.get("/sandboxes", params={"q": "\0"})).status_code == 422
        assert (await ada.get(other.path())).json()["task_title"] == "Count to 100%_"


async def test_a_stopped_sandbox_is_asked_to_go_once(app: FastAPI, ada: httpx.AsyncClient, worker: Worker) -> None:
    first, second = await ada.delete(worker.path()), await ada.delete(worker.path())
    await end_sandbox(app, worker.id)
    after = await ada.delete(worker.path())

    assert [answer.status_code for answer in (first, second, after)] == [202, 202, 200]
    assert (first.json()["status"], after.json()["status"]) == ("stopping", "stopped")
    assert first.json()["end_reason"] == "stopped by ada@example.org"


async def test_the_worker_and_its_owner_read_the_task(ada: httpx.AsyncClient, worker: Worker) -> None:
    inside = await worker.client.get(worker.path("/task"))

    assert inside.json()["id"] == worker.task_id
    assert (await ada.get(worker.path("/task"))).json() == inside.json()


async def test_one_event_is_received_stored_and_listed(ada: httpx.AsyncClient, worker: Worker) -> None:
    event = {"event_type": "agent.message", "event_data": {"text": "hello"}, "source": "worker", "event_id": "e-1"}
    answer = await worker.client.post(worker.path("/events"), json=event)

    received = answer.json()
    assert (answer.status_code, received["status"], received["sandbox_id"]) == (200, "received", worker.id)
    (stored,) = await listed(ada, worker)
    assert {name: stored[name] for name in event} == event
    assert (stored["seq"], stored["created_at"]) == (received["seq"], received["timestamp"])
    assert set(stored) == {*event, "seq", "occurred_at", "created_at", "known"}


async def test_an_event_without_an_id_gets_one(worker: Worker) -> None:
    answers = [await worker.client.post(worker.path("/events"), json={"event_type": "agent.message"}) for _ in range(2)]

    assert len({answer.json()["event_id"] for answer in answers}) == 2
    assert answers[1].json()["seq"] == answers[0].json()["seq"] + 1


async def test_the_same_event_many_times_at_once_is_stored_once_and_answered_alike(
    ada: httpx.AsyncClient, worker: Worker
) -> None:
    for event in ({"event_id": "e1"}, {"event_id": "e2", "seq": 1}, {"seq": 2}):
        body = {"event_type": "agent.message"} | event
        answers = await asyncio.gather(*(worker.client.post(worker.path("/events"), json=body) for _ in range(10)))
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.text for answer in answers}) == 1
    assert len(await listed(ada, worker)) == 3


async def test_a_number_beyond_a_gap_or_used_for_another_event_is_a_conflict(worker: Worker) -> None:
    path, event = worker.path("/events"), {"event_type": "agent.message", "seq": 1, "event_id": "first"}
    beyond = await worker.client.post(path, json=event | {"seq": 5})
    await worker.client.post(path, json=event)
    other = await worker.client.post(path, json=event | {"event_id": "second"})

    assert (beyond.status_code, "send seq 1 first" in beyond.json()["detail"]) == (409, True)
    assert (other.status_code, "first event is kept" in other.json()["detail"]) == (409, True)


@pytest.mark.parametrize(
    "change",
    [
        {"event_type": "system.note"},
        {"event_type": "sandbox.terminated"},
        {"event_type": "task.verified"},
        {"event_type": "rejected"},
        {"source": "system"},
        {"source": "guardian"},
    ],
)
async def test_only_the_platform_speaks_for_the_platform(
    ada: httpx.AsyncClient, worker: Worker, change: dict[str, str]
) -> None:
    event = {"event_type": "agent.message", "seq": 1} | change
    alone = await worker.client.post(worker.path("/events"), json=event)
    assert alone.status_code == 403
    assert await listed(ada, worker) == []

    batch = (await worker.client.post(worker.path("/events/batch"), json={"events": [event]})).json()
    assert (batch["accepted"], batch["last_seq"], batch["rejected"][0]["seq"]) == (0, 1, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"event_type": ""},
        {"event_type": "a b"},
        {"event_type": "agent.\u0000"},
        {"event_type": "a" * 101},
        {"event_data": []},
        {"event_data": None},
        {"seq": 0},
        {"seq": 2**63},
        {"seq": "1"},
        {"event_id": ""},
        {"event_id": "\u0000"},
        {"source": "\u0000"},
    ],
)
async def test_a_malformed_event_is_refused_alone(worker: Worker, change: dict[str, object]) -> None:
    answer = await worker.client.post(worker.path("/events"), json={"event_type": "agent.message"} | change)

    assert answer.status_code == 422


async def test_a_bad_event_in_a_batch_leaves_a_stub_and_the_others_go_on(
    ada: httpx.AsyncClient, worker: Worker
) -> None:
    good = [{"event_type": "agent.message", "event_data": {"text": "\u0000"}, "seq": seq} for seq in (1, 3)]
    large = {"event_type": "agent.message", "event_data": {"text": "x" * 1_100_000}, "seq": 4}
    bad = {"event_type": "agent.\u0000", "event_data": {}, "seq": 2}
    events = [good[0], bad, good[1], large, {"event_data": {}}, "nonsense"]

    answer = await worker.client.post(worker.path("/events/batch"), json={"events": events})

    result = answer.json()
    assert (answer.status_code, result["accepted"], result["duplicates"], result["last_seq"]) == (200, 2, 0, 4)
    assert [rejected["seq"] for rejected in result["rejected"]] == [2, 4, None, None]
    stored = await listed(ada, worker)
    assert [event["event_type"] for event in stored] == ["agent.message", "rejected", "agent.message", "rejected"]
    assert stored[1]["event_data"] == {"reason": result["rejected"][0]["reason"]}
    assert stored[0]["event_data"] == {"text": "\u0000"}
    again = (await worker.client.post(worker.path("/events/batch"), json={"events": events})).json()
    assert (again["accepted"], again["duplicates"], again["last_seq"]) == (0, 4, 4)


async def test_nothing_beyond_a_gap_is_stored(ada: httpx.AsyncClient, worker: Worker) -> None:
    events = [{"event_type": "agent.message", "seq": seq} for seq in (1, 2, 4, 5)]
    answer = (await worker.client.post(worker.path("/events/batch"), json={"events": events})).json()

    assert (answer["accepted"], answer["last_seq"]) == (2, 2)
    assert len(await listed(ada, worker)) == 2


async def test_identity_comes_from_the_token_only(app: FastAPI, ada: httpx.AsyncClient, worker: Worker) -> None:
    async with working(app, ada) as other:
        event = {"event_type": "agent.message", "sandbox_id": other.id, "task_id": other.task_id, "user_id": "x"}
        assert (await worker.client.post(worker.path("/events"), json=event)).status_code == 200
        assert len(await listed(ada, worker)) == 1
        assert await listed(ada, other) == []


async def test_a_time_that_makes_no_sense_is_ignored(ada: httpx.AsyncClient, worker: Worker) -> None:
    times = ["2026-01-02T03:04:05Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "soon", "", 7, None]
    for time in times:
        event = {"event_type": "agent.message", "occurred_at": time}
        assert (await worker.client.post(worker.path("/events"), json=event)).status_code == 200

    stored = await listed(ada, worker)
    assert stored[0]["occurred_at"] == "2026-01-02T03:04:05Z"
    assert all(event["occurred_at"] == event["created_at"] for event in stored[1:])


async def test_events_are_counted_and_filtered(ada: httpx.AsyncClient, worker: Worker) -> None:
    events = [{"event_type": kind} for kind in ("agent.started", "agent.message", "agent.message")]
    await worker.client.post(worker.path("/events/batch"), json={"events": events})

    everything = (await ada.get(worker.path("/events"), params={"limit": 1})).json()
    messages = (await ada.get(worker.path("/events"), params={"event_type": "agent.message"})).json()

    assert (
        everything["total_count"] == everything["items"][0]["seq"] == (await ada.get(worker.path())).json()["last_seq"]
    )
    assert everything["sandbox_id"] == worker.id
    assert (messages["total_count"], len(messages["items"])) == (2, 2)
    assert messages["items"][0]["seq"] > messages["items"][1]["seq"]
    for params in ({"limit": 501}, {"order": "up"}, {"event_type": "\u0000"}, {"cursor": "x"}):
        assert (await ada.get(worker.path("/events"), params=params)).status_code == 422


async def test_secrets_are_masked_in_everything_that_is_stored(ada: httpx.AsyncClient, worker: Worker) -> None:
    text = f"the key is {MODEL_KEY} and the token {worker.token}"
    digest = hashlib.sha256(text.encode()).hexdigest()
    edit = {"event_type": "agent.file_edited", "event_data": {"full_diff": None, "diff_blob": digest}, "event_id": "d"}
    await worker.client.put(worker.path(f"/blobs/{digest}"), content=text)
    await worker.client.put(worker.path("/transcript?session_id=s"), content=json.dumps({"text": text}))
    await worker.client.post(worker.path("/events"), json=edit)
    await worker.client.post(worker.path("/events"), json={"event_type": "agent.message", "event_data": {"text": text}})

    for rest in ("/events", "/transcript", "/events/d/diff"):
        shown = (await ada.get(worker.path(rest))).text
        assert "[masked]" in shown
        assert MODEL_KEY not in shown
        assert worker.token not in shown


async def test_a_blob_is_checked_by_its_hash_and_stored_once(app: FastAPI, worker: Worker) -> None:
    content = b"\xff\x00 any bytes \n"
    digest = hashlib.sha256(content).hexdigest()
    for _ in range(2):
        answer = await worker.client.put(worker.path(f"/blobs/{digest}"), content=content)
        assert (answer.status_code, answer.json()) == (200, {"sha256": digest, "size": len(content)})
    for bad in ("0" * 64, digest.upper(), "x", "..%2f"):
        assert (await worker.client.put(worker.path(f"/blobs/{bad}"), content=content)).status_code in (404, 422)

    async with app.state.sessions() as session:
        (blob,) = (await session.execute(select(SandboxBlob))).scalars()
        assert blob.content == content


async def test_one_sandbox_cannot_fill_the_database_with_blobs(app: FastAPI, worker: Worker) -> None:
    app.state.settings = app.state.settings.model_copy(update={"sandbox_blobs_mb": 1})
    answers = [
        await worker.client.put(worker.path(f"/blobs/{hashlib.sha256(content).hexdigest()}"), content=content)
        for content in (b"1" * 600_000, b"2" * 600_000)
    ]

    assert [answer.status_code for answer in answers] == [200, 413]


async def test_the_full_diff_comes_from_the_event_or_its_blob(ada: httpx.AsyncClient, worker: Worker) -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+neu é\n"
    digest = hashlib.sha256(diff.encode()).hexdigest()
    await worker.client.put(worker.path(f"/blobs/{digest}"), content=diff)
    data: list[dict[str, object]] = [
        {"full_diff": diff},
        {"full_diff": None, "diff_blob": digest},
        {"full_diff": None, "diff_blob": "0" * 64},
        {"full_diff": None, "diff_blob": [1]},
    ]
    for number, event_data in enumerate(data):
        event = {"event_type": "agent.file_edited", "event_data": event_data, "event_id": f"e{number}"}
        await worker.client.post(worker.path("/events"), json=event)
    await worker.client.post(worker.path("/events"), json={"event_type": "agent.message", "event_id": "m"})

    for event_id in ("e0", "e1"):
        answer = await ada.get(worker.path(f"/events/{event_id}/diff"))
        assert (answer.status_code, answer.text) == (200, diff)
        assert answer.headers["content-type"].startswith("text/x-diff")
    for event_id in ("e2", "e3", "m", "nothing", "%00"):
        assert (await ada.get(worker.path(f"/events/{event_id}/diff"))).status_code == 404


async def test_the_newest_transcript_is_kept_and_downloaded(ada: httpx.AsyncClient, worker: Worker) -> None:
    assert (await ada.get(worker.path("/transcript"))).status_code == 404
    for lines in ('{"n": 1}\n', '{"n": 1}\n{"n": 2}\n'):
        stored = await worker.client.put(worker.path("/transcript?session_id=s-1"), content=lines)
        assert stored.json() == {"session_id": "s-1", "size_bytes": len(lines)}

    shown = await ada.get(worker.path("/transcript"))

    assert [json.loads(line) for line in shown.text.splitlines()] == [{"n": 1}, {"n": 2}]
    assert worker.id in shown.headers["content-disposition"]
    for query in ("?session_id=", "?session_id=../x", "?session_id=%00"):
        assert (await worker.client.put(worker.path(f"/transcript{query}"), content=b"x")).status_code == 422


@pytest.mark.parametrize(
    ("line", "named"),
    [('{"sessionId": "s-1"}', "s-1"), ('{"sessionId": "../x"}', None), ("[" * 10_000, None), ("nonsense", None)],
)
async def test_a_transcript_names_its_session_itself(worker: Worker, line: str, named: str | None) -> None:
    stored = await worker.client.put(worker.path("/transcript"), content=f"{line}\n")
    assert (stored.status_code, stored.json()["session_id"]) == (200, named or worker.id)


async def test_a_transcript_grows_by_what_each_turn_adds(ada: httpx.AsyncClient, worker: Worker) -> None:
    first, second = '{"n": 1}\n', f'{{"n": 2, "key": "{MODEL_KEY}"}}\n'

    async def put(offset: int, lines: str, session_id: str = "s-1") -> httpx.Response:
        path = worker.path(f"/transcript?session_id={session_id}&offset={offset}")
        return await worker.client.put(path, content=lines)

    assert (await put(9, second)).status_code == 409
    assert (await put(0, first)).json()["size_bytes"] == 9
    assert (await put(9, second)).json()["size_bytes"] == 9 + len(second)
    for offset, session_id in ((9, "s-1"), (5, "s-1"), (9 + len(second), "s-2")):
        assert (await put(offset, first, session_id)).status_code == 409

    shown = (await ada.get(worker.path("/transcript"))).text
    assert shown.startswith(first)
    assert MODEL_KEY not in shown
    assert shown.count("\n") == 2


async def test_the_next_attempt_reads_the_conversation_of_the_one_before(
    app: FastAPI, ada: httpx.AsyncClient, worker: Worker
) -> None:
    await worker.client.put(worker.path("/transcript?session_id=s-1"), content='{"n": 1}\n')
    assert (await worker.client.get(worker.path("/session"))).headers["x-session-id"] == "s-1"
    await end_sandbox(app, worker.id)
    async with app.state.sessions.begin() as session:
        task = await tasks_repository.lock(session, UUID(worker.task_id))
        now = datetime.now(UTC)
        await tasks.give_back(
            session, app.state.bus, task, cause=EndCause.WORK, reason="again", backoff=timedelta(0), now=now
        )
        sandbox, token = await a_work_sandbox(session, app.state.bus, task, now=now)
    async with calling(app, token) as next_one, working(app, ada) as stranger:
        resumed = await next_one.get(f"/sandboxes/{sandbox.id}/session")
        foreign = await stranger.client.get(f"/sandboxes/{sandbox.id}/session")
        fresh = await stranger.client.get(stranger.path("/session"))
        people = await ada.get(f"/sandboxes/{sandbox.id}/session")

    assert (resumed.headers["x-session-id"], resumed.text) == ("s-1", '{"n": 1}\n')
    assert (foreign.status_code, fresh.status_code, people.status_code) == (404, 404, 403)
