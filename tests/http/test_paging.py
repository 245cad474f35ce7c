"""Lists come in pages."""

import base64
import json
from datetime import UTC, datetime

import httpx
import pytest
from fastapi import FastAPI

from omoi_os.errors import Invalid
from omoi_os.http import paging
from tests.api.conftest import Worker, post_ticket, working


async def every_id(client: httpx.AsyncClient, path: str, limit: int, **filters: str) -> list[list[str]]:
    """The ids of all pages."""
    pages, cursor = [], None
    while True:
        params = {"limit": str(limit)} | filters | ({"cursor": cursor} if cursor else {})
        page = (await client.get(path, params=params)).json()
        pages.append([item.get("id") or item["event_id"] for item in page["items"]])
        cursor = page["next_cursor"]
        if cursor is None:
            return pages


@pytest.mark.parametrize("path", ["/projects", "/tickets", "/tasks"])
async def test_pages_hold_everything_once_newest_first(ada: httpx.AsyncClient, path: str) -> None:
    for number in range(5):
        await post_ticket(ada, github_repo=f"r{number}")

    pages = await every_id(ada, path, 2)

    assert [len(page) for page in pages] == [2, 2, 1]
    assert [found for page in pages for found in page] == [
        found for page in await every_id(ada, path, 50) for found in page
    ]
    whole = (await ada.get(path)).json()["items"]
    assert [item["created_at"] for item in whole] == sorted((item["created_at"] for item in whole), reverse=True)


async def test_a_full_last_page_has_no_next(ada: httpx.AsyncClient) -> None:
    for number in range(2):
        await post_ticket(ada, github_repo=f"r{number}")

    assert [len(page) for page in await every_id(ada, "/tickets", 2)] == [2]


async def test_users_and_their_keys_are_paged(admin: httpx.AsyncClient) -> None:
    user_id = (await admin.post("/users", json={"email": "e@x", "name": "E"})).json()["id"]
    for number in range(3):
        await admin.post(f"/users/{user_id}/api-keys", json={"name": f"k{number}"})

    assert [len(page) for page in await every_id(admin, "/users", 1)] == [1, 1]
    assert [len(page) for page in await every_id(admin, f"/users/{user_id}/api-keys", 2)] == [2, 1]


async def test_sandboxes_are_paged(app: FastAPI, ada: httpx.AsyncClient) -> None:
    made = []
    for _ in range(3):
        async with working(app, ada) as worker:
            made.append(worker.id)

    pages = await every_id(ada, "/sandboxes", 2)

    assert [len(page) for page in pages] == [2, 1]
    assert [found for page in pages for found in page] == made[::-1]


@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_events_are_paged_in_both_orders(ada: httpx.AsyncClient, worker: Worker, order: str) -> None:
    events = [{"event_type": "agent.message", "event_id": f"e{number}"} for number in range(5)]
    await worker.client.post(worker.path("/events/batch"), json={"events": events})

    pages = await every_id(ada, worker.path("/events"), 2, order=order)

    found = [event_id for page in pages for event_id in page if event_id.startswith("e")]
    wanted = [f"e{number}" for number in range(5)]
    assert found == (wanted if order == "asc" else wanted[::-1])


@pytest.mark.parametrize(
    "cursor", ["x", "%%%", "bnVsbA", "W10", "eyJ9", "e30", "é", "W" * 300, "WyJwcm9qZWN0cyIsICJ4Il0"]
)
async def test_a_cursor_that_was_not_handed_out_is_refused(ada: httpx.AsyncClient, cursor: str) -> None:
    for path in ("/projects", "/tickets", "/tasks", "/sandboxes"):
        assert (await ada.get(path, params={"cursor": cursor})).status_code == 422


async def test_a_cursor_of_another_list_is_refused(ada: httpx.AsyncClient) -> None:
    for number in range(2):
        await post_ticket(ada, github_repo=f"r{number}")
    cursor = (await ada.get("/tickets", params={"limit": 1})).json()["next_cursor"]

    assert (await ada.get("/tickets", params={"cursor": cursor})).status_code == 200
    assert (await ada.get("/tasks", params={"cursor": cursor})).status_code == 422


def test_a_cursor_is_url_safe_and_comes_back_as_it_was() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    cursor = paging.encode("things", moment, "ÿ~?>")

    assert cursor.replace("-", "").replace("_", "").isalnum()
    assert paging.decode("things", cursor, paging.moment, paging.plain) == (moment, "ÿ~?>")


@pytest.mark.parametrize(
    ("key", "reader"),
    [(str(2**63), paging.number), ("-1", paging.number), ("2026-01-01", paging.moment), ("\0", paging.plain)],
)
def test_a_cursor_with_what_the_database_cannot_take_is_refused(key: str, reader: object) -> None:
    with pytest.raises(Invalid):
        paging.decode("things", paging.encode("things", key), reader)  # type: ignore[arg-type]


FORGED_KEYS = [
    ["9999-12-31T23:59:59-23:59", "x"],
    ["0001-01-01T00:00:00+23:59", "x"],
    ["2026-01-01T00:00:00+00:00", "\ud800"],
    ["2026-01-01T00:00:00+00:00", "\x00"],
    ["2026-01-01T00:00:00+00:00", {"a": 1}],
    [float("inf")],
    [1e300],
    [True],
    ["9" * 200],
    ["\u0663"],
    [["x"]],
    [None],
    [],
]


@pytest.mark.parametrize("key", FORGED_KEYS, ids=str)
async def test_a_forged_cursor_is_bad_input_for_every_list(
    app: FastAPI, admin: httpx.AsyncClient, worker: Worker, key: list[object]
) -> None:
    kinds = ["projects", "tickets", "tasks", "sandboxes", "users", "audit", "api-keys", "sessions", "events", "e:asc"]
    lists = [
        path.removeprefix("/api/v1").replace("{sandbox_id}", worker.id)
        for path, operations in app.openapi()["paths"].items()
        for parameter in operations.get("get", {}).get("parameters", [])
        if parameter["name"] == "cursor" and "{user_id}" not in path
    ]
    assert len(lists) >= 9

    for path in lists:
        for kind in kinds:
            forged = base64.urlsafe_b64encode(json.dumps([kind, *key]).encode()).decode().rstrip("=")
            answer = await admin.get(path, params={"cursor": forged})
            assert answer.status_code == 422, (path, kind, answer.text)
