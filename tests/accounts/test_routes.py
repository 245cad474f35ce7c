"""Users and their keys over HTTP."""

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select

from omoi_os.accounts.models import ApiKey, IdempotentRequest
from omoi_os.db.base import Sessions
from tests.api.conftest import calling

EVE = {"email": "Eve@Example.org", "name": "Eve"}


async def test_an_administrator_adds_a_user_whose_key_works(app: FastAPI, admin: httpx.AsyncClient) -> None:
    user = await admin.post("/users", json=EVE)
    key = await admin.post(f"/users/{user.json()['id']}/api-keys", json={"name": "laptop"})

    assert (user.status_code, user.json()["email"], user.json()["role"]) == (201, "eve@example.org", "member")
    assert key.status_code == 201
    async with calling(app, key.json()["key"]) as eve:
        assert (await eve.get("/projects")).status_code == 200
        assert (await eve.get("/users")).status_code == 403


async def test_a_key_is_shown_once_and_kept_as_a_hash(admin: httpx.AsyncClient, sessions: Sessions) -> None:
    path = f"/users/{(await admin.post('/users', json=EVE)).json()['id']}/api-keys"
    made = (await admin.post(path, json={"name": "laptop"})).json()

    listed = await admin.get(path)

    assert made["key"].startswith("omoi_")
    assert made["key"] not in listed.text
    assert listed.json()["items"] == [{name: value for name, value in made.items() if name != "key"}]
    async with sessions() as session:
        rows = (await session.execute(select(ApiKey))).scalars()
        assert all(made["key"] not in str(vars(row)) for row in rows)


async def test_a_repeated_idempotency_key_makes_no_second_api_key_and_keeps_no_secret(
    admin: httpx.AsyncClient, sessions: Sessions
) -> None:
    path = f"/users/{(await admin.post('/users', json=EVE)).json()['id']}/api-keys"
    headers = {"Idempotency-Key": "k1"}
    made = await admin.post(path, json={"name": "laptop"}, headers=headers)
    again = await admin.post(path, json={"name": "laptop"}, headers=headers)

    assert (made.status_code, again.status_code) == (201, 409)
    assert "is not shown again" in again.json()["detail"]
    assert len((await admin.get(path)).json()["items"]) == 1
    async with sessions() as session:
        row = await session.scalar(select(IdempotentRequest))
        assert row is not None
        assert row.body is None


async def test_an_address_is_taken_once(admin: httpx.AsyncClient) -> None:
    await admin.post("/users", json=EVE)

    assert (await admin.post("/users", json=EVE | {"email": "eve@example.org"})).status_code == 409


async def test_members_manage_no_users(ada: httpx.AsyncClient) -> None:
    assert (await ada.post("/users", json=EVE)).status_code == 403
    assert (await ada.get("/users")).status_code == 403
    path = "/users/01890a5d-ac96-774b-bcce-b302099a8057/api-keys"
    assert (await ada.post(path, json={"name": "x"})).status_code == 403
    assert (await ada.get(path)).status_code == 403


async def test_keys_of_an_unknown_user_are_not_found(admin: httpx.AsyncClient) -> None:
    path = "/users/01890a5d-ac96-774b-bcce-b302099a8057/api-keys"
    assert (await admin.post(path, json={"name": "x"})).status_code == 404
    assert (await admin.get(path)).status_code == 404


async def test_a_bad_address_is_refused_with_a_good_one(admin: httpx.AsyncClient) -> None:
    for address in ("x", "a@b@c", "a b@c", "@", "a@b\x7f"):
        answer = await admin.post("/users", json={"email": address, "name": "Eve"})
        assert answer.status_code == 422
        assert answer.json()["detail"] == "email: must be an e-mail address such as ada@example.org"


@pytest.mark.parametrize(
    "body",
    [{}, {"email": "x", "name": "x"}, {"email": "a@b", "name": " "}, EVE | {"role": "god"}, {"email": "a\u0000@b"}],
)
async def test_bad_users_are_refused(admin: httpx.AsyncClient, body: dict[str, object]) -> None:
    assert (await admin.post("/users", json=body)).status_code == 422


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "x", "scope": "all"},
        {"name": "x", "expires_at": "2020-01-01T00:00:00Z"},
        {"name": "x", "expires_at": "1"},
    ],
)
async def test_bad_keys_are_refused(admin: httpx.AsyncClient, body: dict[str, object]) -> None:
    path = f"/users/{(await admin.post('/users', json=EVE)).json()['id']}/api-keys"

    assert (await admin.post(path, json=body)).status_code == 422


async def test_a_reading_key_changes_nothing(app: FastAPI, admin: httpx.AsyncClient) -> None:
    path = f"/users/{(await admin.post('/users', json=EVE)).json()['id']}/api-keys"
    key = (await admin.post(path, json={"name": "x", "scope": "read"})).json()["key"]

    async with calling(app, key) as eve:
        assert (await eve.get("/projects")).status_code == 200
        assert (await eve.post("/projects", json={"name": "x"})).status_code == 403
        assert (await eve.get("/projects")).json()["items"] == []
