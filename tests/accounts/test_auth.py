"""Who may call what."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import update

from omoi_os.accounts.models import ApiKey
from omoi_os.db.base import Sessions
from omoi_os.ids import new_token, token_hash
from tests.api.conftest import Worker, a_key, calling, end_sandbox, working

ROUTES_OF_USERS = [
    ("GET", "/projects"),
    ("POST", "/projects"),
    ("GET", "/tickets"),
    ("POST", "/tickets"),
    ("GET", "/tasks"),
    ("POST", "/tasks"),
    ("GET", "/sandboxes"),
    ("GET", "/sandboxes/health"),
    ("GET", "/users"),
    ("POST", "/users"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES_OF_USERS)
async def test_every_route_asks_for_a_token(anonymous: httpx.AsyncClient, method: str, path: str) -> None:
    answer = await anonymous.request(method, path)

    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["code"] == "bad_token"


@pytest.mark.parametrize(
    "header",
    ["Bearer omoi_unknown", "Bearer sbx_unknown", "Bearer ", "Bearer", "omoi_x", "Basic b21vaTp4", "Bearer \xff\xfe"],
)
async def test_a_bad_token_is_refused(anonymous: httpx.AsyncClient, header: str) -> None:
    answer = await anonymous.get("/projects", headers={b"Authorization": header.encode("latin-1")})

    assert answer.status_code == 401


async def test_a_token_in_the_query_string_opens_nothing(anonymous: httpx.AsyncClient, sessions: Sessions) -> None:
    key = await a_key(sessions, "eve")
    for name in ("token", "access_token", "authorization", "api_key"):
        assert (await anonymous.get("/projects", params={name: key})).status_code == 401


async def test_an_expired_or_revoked_key_is_refused(app: FastAPI, sessions: Sessions) -> None:
    soon = datetime.now(UTC) + timedelta(days=1)
    key = await a_key(sessions, "eve", expires_at=soon)
    async with calling(app, key) as eve:
        assert (await eve.get("/projects")).status_code == 200
        for change in ({"expires_at": soon - timedelta(days=2)}, {"expires_at": None, "revoked_at": soon}):
            async with sessions.begin() as session:
                await session.execute(update(ApiKey).where(ApiKey.key_hash == token_hash(key)).values(**change))
            assert (await eve.get("/projects")).status_code == 401


@pytest.mark.parametrize(("method", "path"), ROUTES_OF_USERS)
async def test_a_sandboxs_token_is_forbidden_on_users_routes(worker: Worker, method: str, path: str) -> None:
    assert (await worker.client.request(method, path)).status_code == 403


@pytest.mark.parametrize(
    ("method", "rest"),
    [("GET", ""), ("DELETE", ""), ("GET", "/events"), ("GET", "/transcript"), ("GET", "/events/x/diff")],
)
async def test_a_sandbox_reads_not_even_itself_on_users_routes(worker: Worker, method: str, rest: str) -> None:
    assert (await worker.client.request(method, worker.path(rest))).status_code == 403


def routes_of_workers(sandbox_id: str) -> list[tuple[str, str]]:
    return [
        ("POST", f"/sandboxes/{sandbox_id}/events"),
        ("POST", f"/sandboxes/{sandbox_id}/events/batch"),
        ("PUT", f"/sandboxes/{sandbox_id}/blobs/{'0' * 64}"),
        ("PUT", f"/sandboxes/{sandbox_id}/transcript?session_id=s"),
        ("GET", f"/sandboxes/{sandbox_id}/task"),
    ]


async def statuses(client: httpx.AsyncClient, sandbox_id: str) -> list[int]:
    body = {"event_type": "agent.message", "events": []}
    return [(await client.request(*route, json=body)).status_code for route in routes_of_workers(sandbox_id)]


async def test_another_sandboxs_token_finds_nothing(app: FastAPI, worker: Worker, bob: httpx.AsyncClient) -> None:
    async with working(app, bob) as other:
        assert await statuses(other.client, worker.id) == [404] * 5
        assert await statuses(other.client, "omoios-00000000-000000") == [404] * 5


async def test_an_unknown_sandbox_token_is_refused(app: FastAPI, worker: Worker) -> None:
    async with calling(app, new_token("sbx")) as stranger:
        assert await statuses(stranger, worker.id) == [401] * 5


async def test_no_token_is_refused_on_workers_routes(anonymous: httpx.AsyncClient, worker: Worker) -> None:
    assert await statuses(anonymous, worker.id) == [401] * 5


async def test_the_token_of_an_ended_attempt_is_stale(app: FastAPI, worker: Worker) -> None:
    await end_sandbox(app, worker.id)
    answer = await worker.client.post(worker.path("/events"), json={"event_type": "agent.message"})

    assert (answer.status_code, answer.json()["code"]) == (409, "stale_fence")
    assert await statuses(worker.client, worker.id) == [409] * 5


async def test_a_users_key_cannot_play_the_worker(ada: httpx.AsyncClient, worker: Worker) -> None:
    assert await statuses(ada, worker.id) == [403, 403, 403, 403, 200]


async def test_what_one_user_owns_is_invisible_to_another(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, admin: httpx.AsyncClient, worker: Worker
) -> None:
    task = (await ada.get(f"/tasks/{worker.task_id}")).json()
    routes: list[tuple[str, str, object]] = [
        ("GET", f"/projects/{task['project_id']}", None),
        ("PATCH", f"/projects/{task['project_id']}", {"name": "mine"}),
        ("DELETE", f"/projects/{task['project_id']}", None),
        ("GET", f"/tickets/{task['ticket_id']}", None),
        ("PATCH", f"/tickets/{task['ticket_id']}", {"status": "cancelled"}),
        ("POST", "/tickets", {"title": "x", "project_id": task["project_id"]}),
        ("POST", "/tasks", {"title": "x", "ticket_id": task["ticket_id"]}),
        ("GET", f"/tasks/{task['id']}", None),
        ("POST", f"/tasks/{task['id']}/cancel", None),
        ("POST", f"/tasks/{task['id']}/retry", None),
        ("GET", worker.path(), None),
        ("DELETE", worker.path(), None),
        ("GET", worker.path("/task"), None),
        ("GET", worker.path("/events"), None),
        ("GET", worker.path("/transcript"), None),
        ("GET", worker.path("/events/x/diff"), None),
    ]
    for method, path, body in routes:
        assert (await bob.request(method, path, json=body)).status_code == 404, (method, path)
    for path in ("/projects", "/tickets", "/tasks", "/sandboxes"):
        assert (await bob.get(path)).json() == {"items": [], "next_cursor": None}
        assert len((await ada.get(path)).json()["items"]) == 1
        assert len((await admin.get(path)).json()["items"]) == 1
    for name, value in (("project_id", task["project_id"]), ("ticket_id", task["ticket_id"])):
        assert (await bob.get("/tasks", params={name: value})).json()["items"] == []
    assert (await ada.get(f"/tasks/{task['id']}")).json() == task


async def test_what_is_hidden_answers_like_what_is_not_there(bob: httpx.AsyncClient, worker: Worker) -> None:
    hidden = (await bob.get(f"/tasks/{worker.task_id}")).json()
    nowhere = str(uuid4())
    missing = (await bob.get(f"/tasks/{nowhere}")).json()

    assert hidden["detail"].replace(worker.task_id, "…") == missing["detail"].replace(nowhere, "…")
