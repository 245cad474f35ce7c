"""Attack 10: neither the answer nor its timing shows whether an id belongs to another user or does not exist."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI
from psycopg import pq
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from omoi_os.api.app import make_app
from omoi_os.bus.memory import MemoryBus
from omoi_os.config import Settings
from omoi_os.db.base import make_engine, make_sessions
from tests.api.conftest import Worker, working

#: So often has everything been asked before that the driver has prepared what it will.
WARM = 8


class Wiretap:
    """Everything that is said between the API and the database."""

    def __init__(self, engine: AsyncEngine, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        event.listen(engine.sync_engine, "connect", self._listen)

    def _listen(self, connection: Any, _record: Any) -> None:
        server = connection.driver_connection.pgconn
        server.trace(self._file.fileno())
        server.set_trace_flags(pq.Trace.SUPPRESS_TIMESTAMPS | pq.Trace.REGRESS_MODE)

    def cut(self) -> list[str]:
        """The kinds of messages, in their order, since the last time."""
        lines = self._path.read_text(errors="replace").splitlines()
        os.truncate(self._path, 0)
        os.lseek(self._file.fileno(), 0, os.SEEK_SET)
        return [" ".join([parts[0], *parts[2:3]]) for line in lines if len(parts := line.split("\t")) > 2]

    def close(self) -> None:
        self._file.close()


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    # One connection, so that everyone finds the same things prepared.
    made = make_engine(database_url, pool_size=1)
    yield made
    await made.dispose()


@pytest.fixture
def wiretap(engine: AsyncEngine, short_tmp: Path) -> Iterator[Wiretap]:
    made = Wiretap(engine, short_tmp / "wire")
    yield made
    made.close()


@pytest.fixture
def app(settings: Settings, engine: AsyncEngine, wiretap: Wiretap) -> FastAPI:
    return make_app(settings, make_sessions(engine), MemoryBus())


async def _seen(client: httpx.AsyncClient, wiretap: Wiretap, method: str, path: str, named: str) -> tuple[Any, ...]:
    """All that a caller, or a clock beside the database, can tell of one request."""
    wiretap.cut()
    answer = await client.request(method, path, json={"content": "hello"} if method == "POST" else None)
    headers = {name: value for name, value in answer.headers.items() if name != "date"}
    return answer.status_code, answer.text.replace(named, "…"), headers, wiretap.cut()


async def _compare(
    client: httpx.AsyncClient, wiretap: Wiretap, calls: list[tuple[str, str]], ids: dict[str, str]
) -> None:
    """Each call with an id that is another's and with one that is nobody's."""
    for method, path in calls:
        kind = path.split("{")[1].split("}")[0]
        foreign, unknown = ids[kind], str(uuid4()) if kind != "sandbox_id" else "omoios-00000000-000000"
        for _ in range(WARM):
            for each in (foreign, unknown):
                await _seen(client, wiretap, method, path.replace(f"{{{kind}}}", each), each)
        first, second = [
            await _seen(client, wiretap, method, path.replace(f"{{{kind}}}", each), each) for each in (foreign, unknown)
        ]
        assert first == second, f"{method} {path}"
        assert first[0] == 404
        assert any(line.startswith("F") for line in first[3])


async def test_another_users_things_and_those_that_do_not_exist_are_alike(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, worker: Worker, wiretap: Wiretap
) -> None:
    task = (await ada.get(f"/tasks/{worker.task_id}")).json()
    await ada.post(worker.path("/messages"), json={"content": "hello"})
    ids = {"sandbox_id": worker.id, **{name: task[name] for name in ("ticket_id", "project_id")}, "task_id": task["id"]}
    sandbox = [f"/sandboxes/{{sandbox_id}}{rest}" for rest in ("", "/events", "/trajectory", "/task", "/diff", "/logs")]
    rows = [f"/{kind}s/{{{kind}_id}}" for kind in ("ticket", "task", "project")]
    calls = [("GET", path) for path in [*sandbox, "/sandboxes/{sandbox_id}/messages/history", *rows]]
    calls += [("POST", "/sandboxes/{sandbox_id}/messages"), ("DELETE", "/sandboxes/{sandbox_id}")]
    calls += [("DELETE", "/projects/{project_id}"), ("POST", "/tasks/{task_id}/cancel")]

    await _compare(bob, wiretap, calls, ids)

    # Positive control: to their owner they differ from nothing, in the answer and on the wire.
    own = await _seen(ada, wiretap, "GET", worker.path(), worker.id)
    none = await _seen(ada, wiretap, "GET", "/sandboxes/omoios-00000000-000000", "omoios-00000000-000000")
    assert (own[0], none[0]) == (200, 404)
    assert own[3] != none[3]


async def test_another_sandbox_and_none_are_alike(
    app: FastAPI, ada: httpx.AsyncClient, worker: Worker, wiretap: Wiretap
) -> None:
    async with working(app, ada) as other:
        paths = [f"/sandboxes/{{sandbox_id}}{rest}" for rest in ("/task", "/messages", "/session")]
        await _compare(other.client, wiretap, [("GET", path) for path in paths], {"sandbox_id": worker.id})
        assert (await other.client.get(other.path("/messages"))).status_code == 200
