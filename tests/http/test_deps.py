"""What routes depend on."""

from collections.abc import Iterator
from inspect import isasyncgenfunction, iscoroutinefunction
from typing import Any

import httpx
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import async_sessionmaker
from sqlalchemy.orm import Session

from omoi_os.db.base import Sessions


class Unlucky(Session):
    """A session whose commit fails."""


@event.listens_for(Unlucky, "before_commit")
def fail(_session: Session) -> None:
    raise OperationalError("COMMIT", None, Exception("disk full"))


async def test_nothing_is_answered_as_done_before_it_is_committed(
    app: FastAPI, ada: httpx.AsyncClient, sessions: Sessions
) -> None:
    app.state.sessions = async_sessionmaker(sessions.kw["bind"], sync_session_class=Unlucky, expire_on_commit=False)
    answer = await ada.post("/projects", json={"name": "x"})
    app.state.sessions = sessions

    assert answer.status_code == 503
    assert "disk full" not in answer.text
    assert (await ada.get("/projects")).json()["items"] == []


async def test_a_request_that_fails_leaves_nothing_behind(ada: httpx.AsyncClient) -> None:
    body = {
        "title": "x",
        "github_owner": "a",
        "github_repo": "b",
        "depends_on": ["01890a5d-ac96-774b-bcce-b302099a8057"],
    }
    answer = await ada.post("/tickets", json=body)

    assert answer.status_code == 422
    assert (await ada.get("/projects")).json()["items"] == []


def needed(dependant: Dependant) -> Iterator[Any]:
    yield dependant.call
    for each in dependant.dependencies:
        yield from needed(each)


def test_no_request_waits_for_a_thread(app: FastAPI) -> None:
    calls = {call for route in app.routes if isinstance(route, APIRoute) for call in needed(route.dependant)}
    called = [call if hasattr(call, "__name__") else type(call).__call__ for call in calls]

    assert len(called) > 20
    assert [call for call in called if not (iscoroutinefunction(call) or isasyncgenfunction(call))] == []
