"""Every route of the OpenAPI document, tried by everybody: strangers, members by role, a sandbox and a read key.

A new route has to be added to `ROUTES`, or the first test fails.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI

from omoi_os.accounts.models import Scope
from omoi_os.db.base import Sessions
from omoi_os.sandboxes import routes as sandbox_routes
from omoi_os.visibility import Role
from tests.api.conftest import a_key, calling, end_sandbox, working

PROJECT, SANDBOX = "/api/v1/projects/{project_id}", "/api/v1/sandboxes/{sandbox_id}"
TASK, TICKET, USER = "/api/v1/tasks/{task_id}", "/api/v1/tickets/{ticket_id}", "/api/v1/users/{user_id}"


class Access(Enum):
    """Who may use a route."""

    PUBLIC = auto()  #: everybody, without a token
    USER = auto()  #: every user; it shows or changes only their own things
    READ = auto()  #: members of the project
    CHANGE = auto()  #: maintainers and owners of the project
    MANAGE = auto()  #: owners of the project
    ADMIN = auto()  #: administrators
    WORKER = auto()  #: only the sandbox itself
    READ_OR_WORKER = auto()  #: members of the project and the sandbox itself


ROUTES: Mapping[str, Access] = {
    "GET /health": Access.PUBLIC,
    "GET /ready": Access.PUBLIC,
    "GET /metrics": Access.ADMIN,
    "GET /api/v1/audit": Access.ADMIN,
    "GET /api/v1/auth/api-keys": Access.USER,
    "POST /api/v1/auth/api-keys": Access.USER,
    "DELETE /api/v1/auth/api-keys/{key_id}": Access.USER,
    "GET /api/v1/auth/me": Access.USER,
    "POST /api/v1/auth/session": Access.USER,
    "DELETE /api/v1/auth/session": Access.USER,
    "GET /api/v1/auth/sessions": Access.USER,
    "DELETE /api/v1/auth/sessions/{session_id}": Access.USER,
    "GET /api/v1/credentials": Access.USER,
    "POST /api/v1/credentials": Access.USER,
    "DELETE /api/v1/credentials/{credential_id}": Access.USER,
    "POST /api/v1/credentials/{credential_id}/check": Access.USER,
    "GET /api/v1/monitoring/overview": Access.USER,
    "GET /api/v1/projects": Access.USER,
    "POST /api/v1/projects": Access.USER,
    f"GET {PROJECT}": Access.READ,
    f"PATCH {PROJECT}": Access.MANAGE,
    f"DELETE {PROJECT}": Access.MANAGE,
    f"GET {PROJECT}/members": Access.READ,
    f"POST {PROJECT}/members": Access.MANAGE,
    f"DELETE {PROJECT}/members/{{user_id}}": Access.MANAGE,
    "GET /api/v1/sandboxes": Access.USER,
    "POST /api/v1/sandboxes": Access.CHANGE,
    "GET /api/v1/sandboxes/health": Access.USER,
    f"GET {SANDBOX}": Access.READ,
    f"DELETE {SANDBOX}": Access.CHANGE,
    f"GET {SANDBOX}/blobs/{{sha256}}": Access.READ,
    f"PUT {SANDBOX}/blobs/{{sha256}}": Access.WORKER,
    f"GET {SANDBOX}/diff": Access.READ,
    f"GET {SANDBOX}/events": Access.READ,
    f"POST {SANDBOX}/events": Access.WORKER,
    f"POST {SANDBOX}/events/batch": Access.WORKER,
    f"GET {SANDBOX}/events/stream": Access.READ,
    f"GET {SANDBOX}/events/{{event_id}}/diff": Access.READ,
    f"GET {SANDBOX}/logs": Access.READ,
    f"GET {SANDBOX}/messages": Access.WORKER,
    f"POST {SANDBOX}/messages": Access.CHANGE,
    f"POST {SANDBOX}/messages/ack": Access.WORKER,
    f"GET {SANDBOX}/messages/history": Access.READ,
    f"POST {SANDBOX}/salvage": Access.CHANGE,
    f"DELETE {SANDBOX}/salvage": Access.CHANGE,
    f"GET {SANDBOX}/session": Access.WORKER,
    f"GET {SANDBOX}/task": Access.READ_OR_WORKER,
    f"GET {SANDBOX}/trajectory": Access.READ,
    f"GET {SANDBOX}/transcript": Access.READ,
    f"PUT {SANDBOX}/transcript": Access.WORKER,
    "GET /api/v1/tasks": Access.USER,
    "POST /api/v1/tasks": Access.CHANGE,
    f"GET {TASK}": Access.READ,
    f"POST {TASK}/cancel": Access.CHANGE,
    f"POST {TASK}/retry": Access.CHANGE,
    f"POST {TASK}/verify": Access.CHANGE,
    "GET /api/v1/tickets": Access.USER,
    "POST /api/v1/tickets": Access.CHANGE,
    f"GET {TICKET}": Access.READ,
    f"PATCH {TICKET}": Access.CHANGE,
    "GET /api/v1/users": Access.ADMIN,
    "POST /api/v1/users": Access.ADMIN,
    f"PATCH {USER}": Access.ADMIN,
    f"DELETE {USER}": Access.ADMIN,
    f"GET {USER}/api-keys": Access.ADMIN,
    f"POST {USER}/api-keys": Access.ADMIN,
    f"DELETE {USER}/api-keys/{{key_id}}": Access.ADMIN,
    f"POST {USER}/sign-in-link": Access.ADMIN,
}

#: Bodies of routes that name their project in the body or check the body before anything else.
BODIES: Mapping[str, Any] = {
    "POST /api/v1/projects": {"name": "mine"},
    f"POST {PROJECT}/members": {"email": "guest@example.org", "role": "owner"},
    "POST /api/v1/sandboxes": {"project_id": "{project_id}", "prompt": "hello"},
    f"POST {SANDBOX}/messages": {"content": "hello"},
    "POST /api/v1/tasks": {"ticket_id": "{ticket_id}", "title": "More"},
    "POST /api/v1/tickets": {"project_id": "{project_id}", "title": "More"},
    f"PATCH {TICKET}": {"title": "Another title"},
    f"PATCH {PROJECT}": {"name": "Another name"},
}

#: Routes whose 404 is about something else than the project: there is no such key, blob, event or transcript.
MAY_BE_MISSING = frozenset(
    {
        "DELETE /api/v1/auth/api-keys/{key_id}",
        "DELETE /api/v1/auth/sessions/{session_id}",
        f"GET {SANDBOX}/blobs/{{sha256}}",
        f"GET {SANDBOX}/events/{{event_id}}/diff",
        f"GET {SANDBOX}/session",
        f"GET {SANDBOX}/transcript",
        f"DELETE {USER}/api-keys/{{key_id}}",
        # The first of those who may do it has removed the member.
        f"DELETE {PROJECT}/members/{{user_id}}",
    }
)

MEMBERS = ("viewer", "maintainer", "owner")
#: Those who are refused come first, so that they find everything as it was.
CALLERS = ("anonymous", "stranger", "sandbox", "read key", "viewer", "maintainer", "owner", "admin")
_MEMBERS_WHO: Mapping[Access, tuple[str, ...]] = {
    Access.PUBLIC: MEMBERS,
    Access.USER: MEMBERS,
    Access.READ: MEMBERS,
    Access.READ_OR_WORKER: MEMBERS,
    Access.CHANGE: ("maintainer", "owner"),
    Access.MANAGE: ("owner",),
    Access.ADMIN: (),
    Access.WORKER: (),
}


def expected(caller: str, access: Access, method: str) -> int | None:
    """The status with which a caller is refused; None for one who may use the route."""
    if access == Access.PUBLIC:
        return None
    if caller == "anonymous":
        return 401
    if caller == "sandbox":
        return None if access in (Access.WORKER, Access.READ_OR_WORKER) else 403
    if caller == "admin":
        return 403 if access == Access.WORKER else None
    if caller == "read key":
        # It belongs to an owner, and what an owner may not do it may not do either.
        return 403 if method != "GET" else expected("owner", access, method)
    if caller == "stranger":
        return {Access.USER: None, Access.ADMIN: 403, Access.WORKER: 403}.get(access, 404)
    return None if caller in _MEMBERS_WHO[access] else 403


@dataclass(frozen=True)
class Scene:
    """A project with a member of each role, a ticket and a sandbox, and everybody who calls."""

    ids: Mapping[str, str]
    callers: Mapping[str, httpx.AsyncClient]

    def fill(self, text: str) -> str:
        for name, value in self.ids.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def body(self, route: str) -> Any:
        return {name: self.fill(value) for name, value in BODIES.get(route, {}).items()}


@pytest.fixture
async def scene(app: FastAPI, sessions: Sessions) -> AsyncIterator[Scene]:
    async with AsyncExitStack() as stack:

        async def caller(name: str, role: Role = Role.MEMBER) -> httpx.AsyncClient:
            return await stack.enter_async_context(calling(app, await a_key(sessions, name, role)))

        people = {name: await caller(name) for name in (*MEMBERS, "stranger")}
        worker = await stack.enter_async_context(working(app, people["owner"]))
        task = (await people["owner"].get(f"/tasks/{worker.task_id}")).json()
        await caller("guest")
        for name, role in (("viewer", "viewer"), ("maintainer", "maintainer"), ("guest", "viewer")):
            body = {"email": f"{name}@example.org", "role": role}
            added = await people["owner"].post(f"/projects/{task['project_id']}/members", json=body)
            assert added.status_code == 201
        guest = added.json()["user_id"]
        read = (await people["owner"].post("/auth/api-keys", json={"name": "x", "scope": Scope.READ})).json()["key"]
        people["admin"] = await caller("admin", Role.ADMIN)
        people["read key"] = await stack.enter_async_context(calling(app, read))
        people["anonymous"] = await stack.enter_async_context(calling(app))
        ids = {"project_id": task["project_id"], "ticket_id": task["ticket_id"], "task_id": task["id"]}
        ids |= {"sandbox_id": worker.id, "user_id": guest, "event_id": "x", "sha256": "0" * 64}
        ids |= {"key_id": str(uuid4()), "session_id": str(uuid4())}
        yield Scene(ids, people | {"sandbox": worker.client})
        await app.state.hub.close()


def test_every_route_says_who_may_use_it(app: FastAPI) -> None:
    found = {f"{method.upper()} {path}" for path, methods in app.openapi()["paths"].items() for method in methods}

    assert found == set(ROUTES)


@pytest.mark.parametrize("route", ROUTES)
async def test_a_route_is_for_those_who_may_use_it(
    app: FastAPI, scene: Scene, route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox_routes, "CLAIM_SECONDS", 0.01)
    method, path = route.split(" ")
    if path.endswith("/events/stream"):
        # The response ends only after the sandbox has ended.
        await end_sandbox(app, scene.ids["sandbox_id"])
    for name in CALLERS:
        refused = expected(name, ROUTES[route], method)
        answer = await scene.callers[name].request(
            method, f"http://omoi{scene.fill(path)}", json=scene.body(route) if method != "GET" else None
        )
        about = f"{name}: {route} answered {answer.status_code} {answer.text[:200]}"
        if refused is not None:
            assert answer.status_code == refused, about
        else:
            assert answer.status_code not in (401, 403), about
            assert answer.status_code < 500, about
            assert answer.status_code != 404 or route in MAY_BE_MISSING, about


async def test_lists_search_and_overview_show_strangers_nothing_and_viewers_everything(scene: Scene) -> None:
    for name, found in (("stranger", 0), ("viewer", 1), ("read key", 1), ("admin", 1)):
        client = scene.callers[name]
        for path in ("/projects", "/tickets", "/tasks", "/sandboxes", "/tickets?q=page", "/sandboxes?q=page"):
            assert len((await client.get(path)).json()["items"]) == found, (name, path)
        named = f"/sandboxes?project_id={scene.ids['project_id']}"
        assert len((await client.get(named)).json()["items"]) == found
        overview = (await client.get("/monitoring/overview")).json()
        assert sum(overview["queue"]["by_status"].values()) == found
        assert sum(overview["sandboxes"]["by_status"].values()) == found


async def test_a_refused_call_changes_nothing(scene: Scene) -> None:
    viewer, owner = scene.callers["viewer"], scene.callers["owner"]
    paths = [f"/projects/{scene.ids['project_id']}", f"/tickets/{scene.ids['ticket_id']}"]
    paths += [f"/projects/{scene.ids['project_id']}/members", f"/sandboxes/{scene.ids['sandbox_id']}/messages/history"]
    before = [(await owner.get(path)).text for path in paths]

    for route, access in ROUTES.items():
        method, path = route.split(" ")
        if access in (Access.CHANGE, Access.MANAGE):
            answer = await viewer.request(method, f"http://omoi{scene.fill(path)}", json=scene.body(route))
            assert answer.status_code == 403

    assert [(await owner.get(path)).text for path in paths] == before
