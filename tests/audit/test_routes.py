"""What sandboxes try that is not theirs to do, as administrators find it."""

import csv
import io
import json

import httpx
import pytest
from fastapi import FastAPI

from omoi_os.audit import export
from omoi_os.audit.models import AuditKind
from omoi_os.audit.trail import Entry
from omoi_os.db.base import Sessions
from tests.api.conftest import MODEL_KEY, Worker, working

EVENT = {"event_type": "agent.message", "event_data": {"text": "hello"}}
DIGEST = "0" * 64


async def entries(admin: httpx.AsyncClient, **params: str) -> list[dict[str, object]]:
    answer = await admin.get("/audit", params=params)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, object]] = answer.json()["items"]
    return items


@pytest.mark.parametrize(
    ("method", "rest", "status"),
    [
        ("POST", "/events", 404),
        ("POST", "/events/batch", 404),
        ("GET", "/messages", 404),
        ("POST", "/messages/ack", 404),
        ("GET", "/task", 404),
        ("PUT", f"/blobs/{DIGEST}", 404),
        ("GET", "/session", 404),
        ("GET", "/trajectory", 403),
        ("GET", "/events", 403),
        ("DELETE", "", 403),
    ],
)
async def test_a_token_used_on_another_sandbox_leaves_an_entry(
    app: FastAPI,
    admin: httpx.AsyncClient,
    ada: httpx.AsyncClient,
    worker: Worker,
    method: str,
    rest: str,
    status: int,
) -> None:
    async with working(app, ada) as thief:
        # The same call for itself leaves none, or one of a call that belongs to users.
        assert (await thief.client.request(method, thief.path(rest), json={})).status_code != 404 or rest == "/session"
        own = await entries(admin)
        assert [entry["kind"] for entry in own] == (["refused_call"] if status == 403 else [])

        answer = await thief.client.request(method, worker.path(rest), json={})

        assert answer.status_code == status
        (entry,) = [entry for entry in await entries(admin) if entry not in own]
        assert (entry["kind"], entry["actor_kind"], entry["count"]) == ("foreign_sandbox", "sandbox", 1)
        assert (entry["actor_id"], entry["subject"]) == (thief.id, worker.id)


async def test_a_sandbox_that_does_not_exist_is_noted_alike(
    app: FastAPI, admin: httpx.AsyncClient, worker: Worker
) -> None:
    path = "/sandboxes/omoios-%1b[2J%0aroot/events"
    assert (await worker.client.post(path, json=EVENT)).status_code == 404

    (entry,) = await entries(admin)
    assert entry["subject"] == "omoios-\\x1b[2J\\x0aroot"


@pytest.mark.parametrize("batch", [False, True], ids=["alone", "in a batch"])
async def test_a_number_used_for_other_content_leaves_an_entry_and_the_first_event_stays(
    admin: httpx.AsyncClient, ada: httpx.AsyncClient, worker: Worker, *, batch: bool
) -> None:
    async def post(*texts: str) -> httpx.Response:
        events = [EVENT | {"seq": n, "event_data": {"text": text}} for n, text in enumerate(texts, start=1)]
        if batch:
            return await worker.client.post(worker.path("/events/batch"), json={"events": events})
        return [await worker.client.post(worker.path("/events"), json=event) for event in events][-1]

    first = await post("one", "two")
    again = await post("one", "two")
    assert (first.status_code, again.status_code) == (200, 200)
    assert await entries(admin) == []

    other = await post("one", "changed")

    if batch:
        assert (other.status_code, other.json()["duplicates"]) == (200, 1)
        assert [item["seq"] for item in other.json()["rejected"]] == [2]
    else:
        assert (other.status_code, other.json()["code"]) == (409, "conflict")
    (entry,) = await entries(admin)
    assert (entry["kind"], entry["actor_id"], entry["subject"]) == ("changed_event", worker.id, worker.id)
    stored = (await ada.get(worker.path("/events"), params={"event_type": "agent.message", "order": "asc"})).json()
    assert [item["event_data"]["text"] for item in stored["items"]] == ["one", "two"]


async def test_a_resent_batch_with_a_refused_event_is_no_offence(admin: httpx.AsyncClient, worker: Worker) -> None:
    events = [EVENT | {"seq": 1}, EVENT | {"seq": 2, "event_type": "task.verified"}, EVENT | {"seq": 3}]
    for _ in range(2):
        answer = await worker.client.post(worker.path("/events/batch"), json={"events": events})
        assert (answer.status_code, answer.json()["last_seq"]) == (200, 3)

    assert await entries(admin) == []


async def test_a_flood_of_the_same_is_one_entry_with_a_count(
    app: FastAPI, admin: httpx.AsyncClient, ada: httpx.AsyncClient, worker: Worker
) -> None:
    async with working(app, ada) as thief:
        for _ in range(50):
            await thief.client.post(worker.path("/events"), json=EVENT)
    assert [entry["count"] for entry in await entries(admin)] == [1]

    await app.state.trail.close()

    assert [entry["count"] for entry in await entries(admin)] == [50]


async def test_what_a_stranger_writes_is_bounded_masked_and_one_line(app: FastAPI, admin: httpx.AsyncClient) -> None:
    hostile = f"{MODEL_KEY}\n\x1b]52;c;x\x07" + "x" * 10_000
    await app.state.trail.record(Entry(AuditKind.FOREIGN_SANDBOX, "omoios-1-2", hostile, hostile))

    (entry,) = await entries(admin)
    for name, size in (("subject", 200), ("detail", 500)):
        assert len(str(entry[name])) == size
        assert str(entry[name]).startswith("[masked]\\x0a\\x1b]52;c;x\\x07x")


async def test_entries_are_paged_filtered_and_for_administrators_only(
    app: FastAPI, admin: httpx.AsyncClient, ada: httpx.AsyncClient, worker: Worker, sessions: Sessions
) -> None:
    for number in range(5):
        kind = AuditKind.CHANGED_EVENT if number == 0 else AuditKind.FOREIGN_SANDBOX
        await app.state.trail.record(Entry(kind, f"omoios-1-{number}", "x", "y"))

    seen: list[object] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await admin.get("/audit", params={"limit": "2"} | cursor)).json()
        seen += [item["actor_id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}

    assert sorted(map(str, seen)) == [f"omoios-1-{number}" for number in range(5)]
    assert [entry["actor_id"] for entry in await entries(admin, kind="changed_event")] == ["omoios-1-0"]
    assert [entry["actor_id"] for entry in await entries(admin, actor_id="omoios-1-3")] == ["omoios-1-3"]
    assert (await ada.get("/audit")).status_code == 403
    assert (await worker.client.get("/audit")).status_code == 403
    assert (await admin.get("/audit", params={"cursor": "x"})).status_code == 422


async def test_the_whole_trail_is_exported_page_by_page(
    app: FastAPI, admin: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "PAGE", 2)
    for number in range(5):
        await app.state.trail.record(Entry(AuditKind.FOREIGN_SANDBOX, f"omoios-1-{number}", "=1+1", 'a "quoted", text'))

    lines = await admin.get("/audit", params={"format": "jsonl"})
    table = await admin.get("/audit", params={"format": "CSV", "limit": "1"})

    assert lines.headers["content-type"].startswith("application/x-ndjson")
    assert [json.loads(line) for line in lines.text.splitlines()] == await entries(admin)
    assert table.headers["content-disposition"] == 'attachment; filename="audit.csv"'
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [row["actor_id"] for row in rows] == [f"omoios-1-{number}" for number in reversed(range(5))]
    # A spreadsheet must not run what a sandbox wrote.
    assert {(row["subject"], row["detail"]) for row in rows} == {("'=1+1", 'a "quoted", text')}


async def test_an_export_is_filtered_and_for_administrators_only(
    app: FastAPI, admin: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    await app.state.trail.record(Entry(AuditKind.FOREIGN_SANDBOX, "omoios-1-1", "x", "y"))
    await app.state.trail.record(Entry(AuditKind.CHANGED_EVENT, "omoios-1-2", "x", "y"))

    found = await admin.get("/audit", params={"format": "jsonl", "kind": "changed_event"})

    assert [json.loads(line)["actor_id"] for line in found.text.splitlines()] == ["omoios-1-2"]
    assert (await ada.get("/audit", params={"format": "csv"})).status_code == 403
    assert (await admin.get("/audit", params={"format": "xlsx"})).status_code == 422
