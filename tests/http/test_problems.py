"""Every error is a problem document and reveals no internals."""

import os

import httpx
import pytest
from fastapi import FastAPI

from omoi_os.api.app import make_app
from omoi_os.bus.memory import MemoryBus
from omoi_os.config import Settings
from omoi_os.db.base import make_engine, make_sessions
from omoi_os.errors import DatabaseUnavailable, TooMany
from tests.api.conftest import Worker, calling

DEEP = b"[" * 100_000 + b"]" * 100_000
POISON = [
    b"{",
    b"",
    b"null",
    b"[]",
    b'"x"',
    b"\xff\xfe",
    b'{"title": "\xff"}',
    b'{"title": "\\ud800"}',
    b'{"title": "\\u0000"}',
    b'{"title": NaN}',
    b'{"title": "x", "budget_usd": 1e200000}',
    b'{"title": "x", "budget_usd": ' + b"9" * 140_000 + b"}",
    b'{"title": "x", "budget_usd": ' + b"9" * 4_000 + b"}",
    b'{"title": ' + DEEP + b"}",
    DEEP,
]


def assert_problem(answer: httpx.Response, status: int, code: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert (body["status"], body["code"], body["type"]) == (status, code, f"urn:omoi:problem:{code}")
    assert body["title"]
    assert body["detail"]


@pytest.mark.parametrize("body", POISON, ids=lambda body: repr(body[:24]))
async def test_poison_is_refused_on_a_users_route_and_harms_nobody(ada: httpx.AsyncClient, body: bytes) -> None:
    answer = await ada.post("/tickets", content=body, headers={"Content-Type": "application/json"})

    assert_problem(answer, 422, "invalid")
    assert (await ada.get("/tickets")).json()["items"] == []


async def test_a_caller_without_a_token_gets_401_before_any_error_in_the_body(
    anonymous: httpx.AsyncClient, worker: Worker
) -> None:
    for path in ("/tickets", worker.path("/events"), worker.path("/events/batch")):
        answer = await anonymous.post(path, content=b"{", headers={"Content-Type": "application/json"})
        assert_problem(answer, 401, "bad_token")


async def test_bad_json_under_an_idempotency_key_is_bad_json(ada: httpx.AsyncClient) -> None:
    headers = {"Content-Type": "application/json", "Idempotency-Key": "k"}
    answer = await ada.post("/tickets", content=b'{"title": }', headers=headers)

    assert_problem(answer, 422, "invalid")
    assert answer.json()["detail"] == "the body is not valid JSON: expected value at line 1 column 11"


async def test_bad_input_names_each_field_without_repeating_the_input(ada: httpx.AsyncClient) -> None:
    answer = await ada.post("/tickets", json={"title": "", "github_owner": "secret!", "github_repo": "x"})

    assert_problem(answer, 422, "invalid")
    assert [error["loc"] for error in answer.json()["errors"]] == [["body", "title"], ["body", "github_owner"]]
    assert answer.json()["detail"].startswith("title: ")
    assert "(and 1 more)" in answer.json()["detail"]
    assert "secret!" not in answer.text


async def test_a_body_without_the_json_content_type_is_refused_with_the_remedy(ada: httpx.AsyncClient) -> None:
    for headers in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"}):
        answer = await ada.post("/projects", content=b'{"name": "x"}', headers=headers)
        assert_problem(answer, 422, "invalid")
        assert "Content-Type: application/json" in answer.json()["detail"]


@pytest.mark.parametrize("body", [b"null", b"[]", b'"x"'])
async def test_a_body_that_is_no_object_is_refused_with_the_remedy(
    ada: httpx.AsyncClient, worker: Worker, body: bytes
) -> None:
    headers = {"Content-Type": "application/json"}
    for client, path in ((ada, "/sandboxes"), (worker.client, worker.path("/events"))):
        answer = await client.post(path, content=body, headers=headers)
        assert_problem(answer, 422, "invalid")
        assert answer.json()["detail"] == "the body must be a JSON object, sent with Content-Type: application/json"


async def test_an_encoded_body_is_refused(ada: httpx.AsyncClient) -> None:
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}

    assert_problem(await ada.post("/projects", content=b"{}", headers=headers), 415, "unsupported_media_type")


async def test_unknown_places_and_methods_are_problems(ada: httpx.AsyncClient, app: FastAPI) -> None:
    assert_problem(await ada.get("/nothing"), 404, "not_found")
    assert_problem(await ada.get("/projects/not-a-uuid"), 422, "invalid")
    wrong = await ada.put("/projects", json={})
    assert_problem(wrong, 405, "method_not_allowed")
    assert wrong.headers["allow"] == "GET, POST"
    async with calling(app, base="http://omoi") as root:
        assert_problem(await root.get("/api/nothing"), 404, "not_found")
        assert_problem(await root.post("/"), 404, "not_found")
        assert_problem(await root.post("/docs"), 405, "method_not_allowed")


@pytest.mark.parametrize(
    "path", ["/sandboxes/%00", "/sandboxes/..%2f..", "/sandboxes/a%ffb", "/sandboxes/x'%20or%201=1--", "/tasks/%00"]
)
async def test_hostile_paths_find_nothing(ada: httpx.AsyncClient, path: str) -> None:
    assert (await ada.get(path)).status_code in (404, 422)


@pytest.mark.parametrize("query", ["github_owner=%00", "limit=x", "limit=0", "limit=501", "cursor=%00"])
async def test_hostile_queries_are_refused(ada: httpx.AsyncClient, query: str) -> None:
    assert_problem(await ada.get(f"/projects?{query}"), 422, "invalid")


async def test_a_database_that_is_away_is_a_503_and_never_a_false_answer(settings: Settings) -> None:
    engine = make_engine(f"postgresql://omoi@/omoi?host={settings.data_dir}/nothing")
    app = make_app(settings, make_sessions(engine), MemoryBus())
    async with calling(app, "omoi_any") as client, calling(app, base="http://omoi") as root:
        for method, path in (("GET", "/projects"), ("POST", "/sandboxes/x/events"), ("PUT", "/sandboxes/x/blobs/y")):
            answer = await client.request(method, path, json={"event_type": "agent.message"})
            assert_problem(answer, 503, "not_ready")
            assert answer.headers["retry-after"] == "1"
            assert answer.json()["detail"] == str(DatabaseUnavailable())
            assert str(settings.data_dir) not in answer.text
        assert_problem(await root.get("/ready"), 503, "not_ready")
        assert (await root.get("/health")).status_code == 200
    await engine.dispose()


async def test_an_unexpected_error_tells_nothing_of_the_inside(app: FastAPI) -> None:
    @app.get("/boom")
    async def boom() -> None:
        raise RuntimeError(os.environ.get("PATH", "inside"))

    @app.get("/busy")
    async def busy() -> None:
        raise TooMany("slow down")

    async with calling(app, base="http://omoi") as root:
        answer = await root.get("/boom")
        assert_problem(answer, 500, "internal_error")
        assert os.environ.get("PATH", "inside") not in answer.text
        assert_problem(await root.get("/busy"), 429, "too_many")


@pytest.mark.parametrize("body", POISON, ids=lambda body: repr(body[:24]))
async def test_poison_from_a_sandbox_is_refused_and_its_neighbours_go_on(worker: Worker, body: bytes) -> None:
    for rest in ("/events", "/events/batch"):
        headers = {"Content-Type": "application/json"}
        answer = await worker.client.post(worker.path(rest), content=body, headers=headers)
        assert_problem(answer, 422, "invalid")
    good = await worker.client.post(worker.path("/events"), json={"event_type": "agent.message"})
    assert good.status_code == 200
