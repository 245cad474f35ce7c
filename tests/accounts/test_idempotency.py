"""The same creation asked for twice happens once."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.api.conftest import post_ticket

KEY = {"Idempotency-Key": "order 66"}
PROJECT = {"name": "x", "github_owner": "a", "github_repo": "b"}
TICKET = {"title": "x", "github_owner": "a", "github_repo": "b"}


@pytest.mark.parametrize(("path", "body"), [("/projects", PROJECT), ("/tickets", TICKET)])
async def test_a_repeated_request_gets_the_first_answer(
    ada: httpx.AsyncClient, path: str, body: dict[str, Any]
) -> None:
    first = await ada.post(path, json=body, headers=KEY)
    again = await ada.post(path, json=dict(reversed(body.items())), headers=KEY)

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert len((await ada.get(path)).json()["items"]) == 1


@pytest.mark.parametrize(("path", "body"), [("/projects", {"name": "x"}), ("/tickets", TICKET)])
async def test_many_at_once_get_one_answer(ada: httpx.AsyncClient, path: str, body: dict[str, Any]) -> None:
    answers = await asyncio.gather(*(ada.post(path, json=body, headers=KEY) for _ in range(8)))

    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len((await ada.get(path)).json()["items"]) == 1


async def test_tasks_and_users_take_a_key_too(ada: httpx.AsyncClient, admin: httpx.AsyncClient) -> None:
    ticket = await post_ticket(ada)
    task = {"ticket_id": ticket["id"], "title": "More"}
    user = {"email": "eve@example.org", "name": "Eve"}
    for client, path, body in ((ada, "/tasks", task), (admin, "/users", user)):
        answers = await asyncio.gather(*(client.post(path, json=body, headers=KEY) for _ in range(4)))
        assert {answer.status_code for answer in answers} == {201}
        assert len({answer.json()["id"] for answer in answers}) == 1


async def test_the_same_key_for_another_request_is_refused(ada: httpx.AsyncClient) -> None:
    await ada.post("/projects", json=PROJECT, headers=KEY)
    other_body = await ada.post("/projects", json=PROJECT | {"name": "y"}, headers=KEY)
    other_place = await ada.post("/tickets", json=TICKET, headers=KEY)

    assert (other_body.status_code, other_place.status_code) == (422, 422)
    assert "was used for a different request" in other_body.json()["detail"]


async def test_a_refused_request_does_not_use_up_its_key(ada: httpx.AsyncClient) -> None:
    await ada.post("/projects", json=PROJECT)
    assert (await ada.post("/projects", json=PROJECT, headers=KEY)).status_code == 409
    assert (await ada.post("/projects", json={"name": "other"}, headers=KEY)).status_code == 201


async def test_one_users_key_is_not_anothers(ada: httpx.AsyncClient, bob: httpx.AsyncClient) -> None:
    first = (await ada.post("/projects", json=PROJECT, headers=KEY)).json()
    second = (await bob.post("/projects", json=PROJECT, headers=KEY)).json()

    assert first["id"] != second["id"]
    assert first["created_by"] != second["created_by"]


@pytest.mark.parametrize("key", [b"", b"x" * 256, b"\xff"])
async def test_a_key_that_is_none_is_refused(ada: httpx.AsyncClient, key: bytes) -> None:
    answer = await ada.post("/projects", json={"name": "x"}, headers={b"Idempotency-Key": key})

    assert answer.status_code == 422
    assert (await ada.get("/projects")).json()["items"] == []
