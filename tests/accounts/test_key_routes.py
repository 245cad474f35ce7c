"""Keys, sessions and users that can be ended, over HTTP."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import update

from omoi_os.accounts.models import ApiKey
from omoi_os.db.base import Sessions
from tests.api.conftest import browsing, calling

EVE = {"email": "eve@example.org", "name": "Eve"}
NOBODY = "01890a5d-ac96-774b-bcce-b302099a8057"


async def eves_key(admin: httpx.AsyncClient, **fields: Any) -> tuple[str, str]:
    """Eve's id and a key of hers."""
    user = (await admin.post("/users", json=EVE | {"role": fields.pop("role", "member")})).json()["id"]
    made = await admin.post(f"/users/{user}/api-keys", json={"name": "laptop", **fields})
    return user, made.json()["key"]


async def kinds(admin: httpx.AsyncClient) -> list[str]:
    """What the audit trail has, oldest first."""
    return [entry["kind"] for entry in reversed((await admin.get("/audit")).json()["items"])]


async def test_one_creates_lists_and_revokes_own_keys(app: FastAPI, admin: httpx.AsyncClient) -> None:
    _, first = await eves_key(admin)
    async with calling(app, first) as eve:
        made = await eve.post("/auth/api-keys", json={"name": "ci", "scope": "read"})
        assert (made.status_code, made.json()["scope"]) == (201, "read")
        listed = (await eve.get("/auth/api-keys")).json()["items"]
        assert [key["name"] for key in listed] == ["ci", "laptop"]
        assert made.json()["key"] not in str(listed)
        async with calling(app, made.json()["key"]) as ci:
            assert (await ci.get("/auth/me")).status_code == 200
            for _ in range(2):
                assert (await eve.delete(f"/auth/api-keys/{made.json()['id']}")).status_code == 204
            assert (await ci.get("/auth/me")).status_code == 401
        (revoked, _) = (await eve.get("/auth/api-keys")).json()["items"]
        assert revoked["revoked_at"] is not None

    assert (await kinds(admin))[-3:] == ["key_created", "key_revoked", "key_revoked"]


async def test_another_user_s_keys_and_sessions_are_not_found(
    admin: httpx.AsyncClient, ada: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    key = (await ada.post("/auth/api-keys", json={"name": "x"})).json()["id"]

    assert (await bob.delete(f"/auth/api-keys/{key}")).status_code == 404
    assert (await bob.delete(f"/auth/sessions/{key}")).status_code == 404
    assert (await bob.get("/auth/api-keys")).json()["items"] != []
    me = (await bob.get("/auth/me")).json()["id"]
    assert (await admin.delete(f"/users/{me}/api-keys/{key}")).status_code == 404
    assert (await bob.delete(f"/users/{me}/api-keys/{key}")).status_code == 403


async def test_an_administrator_revokes_any_key(app: FastAPI, admin: httpx.AsyncClient) -> None:
    user, key = await eves_key(admin)
    (listed,) = (await admin.get(f"/users/{user}/api-keys")).json()["items"]
    async with calling(app, key) as eve:
        assert (await eve.get("/auth/me")).status_code == 200
        assert (await admin.delete(f"/users/{user}/api-keys/{listed['id']}")).status_code == 204
        assert (await eve.get("/auth/me")).status_code == 401


@pytest.mark.parametrize(
    ("scope", "reads", "writes", "administers"),
    [("read", 200, 403, 200), ("write", 200, 201, 403), ("admin", 200, 201, 200)],
)
async def test_a_scope_bounds_what_a_key_of_an_administrator_may_do(
    app: FastAPI, admin: httpx.AsyncClient, *, scope: str, reads: int, writes: int, administers: int
) -> None:
    _, key = await eves_key(admin, role="admin", scope=scope)

    async with calling(app, key) as eve:
        assert (await eve.get("/projects")).status_code == reads
        assert (await eve.post("/projects", json={"name": "x"})).status_code == writes
        assert (await eve.get("/users")).status_code == administers
        added = await eve.post("/users", json={"email": "x@example.org", "name": "x"})
        assert added.status_code == (201 if scope == "admin" else 403)
        assert (await eve.delete(f"/auth/api-keys/{NOBODY}")).status_code == (403 if scope == "read" else 404)


async def test_a_write_key_neither_reads_server_paths_nor_becomes_more(app: FastAPI, admin: httpx.AsyncClient) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    _, key = await eves_key(admin, role="admin", scope="write", expires_at=soon.isoformat())

    async with calling(app, key) as eve:
        assert (await eve.post("/projects", json={"name": "x", "repo_url": "/etc"})).status_code == 403
        assert (await eve.post("/auth/api-keys", json={"name": "x", "scope": "admin"})).status_code == 403
        assert (await eve.post("/auth/api-keys", json={"name": "x"})).status_code == 403
        made = (await eve.post("/auth/api-keys", json={"name": "x", "scope": "write"})).json()
        assert datetime.fromisoformat(made["expires_at"]) == soon
        assert (await eve.post("/auth/session")).status_code == 201
        del eve.headers["Authorization"]
        eve.headers["Origin"] = "http://omoi"
        assert (await eve.get("/auth/me")).json()["via"] == "session"
        assert (await eve.get("/users")).status_code == 403


async def test_sessions_are_listed_and_ended(app: FastAPI, admin: httpx.AsyncClient, sessions: Sessions) -> None:
    await admin.post("/users", json=EVE)
    async with (
        browsing(app, sessions, email=EVE["email"]) as phone,
        browsing(app, sessions, email=EVE["email"]) as laptop,
    ):
        listed = (await laptop.get("/auth/sessions")).json()["items"]
        assert [one["current"] for one in listed] == [True, False]
        assert (await laptop.delete(f"/auth/sessions/{listed[1]['id']}")).status_code == 204
        assert (await phone.get("/auth/me")).status_code == 401
        assert len((await laptop.get("/auth/sessions")).json()["items"]) == 1
        assert (await laptop.delete(f"/auth/sessions/{listed[1]['id']}")).status_code == 404

    assert (await kinds(admin))[-1] == "session_ended"


async def test_a_deactivated_user_is_out_at_once_and_loses_nothing(
    app: FastAPI, admin: httpx.AsyncClient, sessions: Sessions
) -> None:
    user, key = await eves_key(admin)
    async with calling(app, key) as eve, browsing(app, sessions, email=EVE["email"]) as browser:
        project = (await eve.post("/projects", json={"name": "hers"})).json()["id"]
        for _ in range(2):
            assert (await admin.delete(f"/users/{user}")).status_code == 204
        assert [(await client.get("/auth/me")).status_code for client in (eve, browser)] == [401, 401]
        assert (await admin.get(f"/projects/{project}")).status_code == 200
        (shown,) = [one for one in (await admin.get("/users")).json()["items"] if one["id"] == user]
        assert shown["deactivated_at"] is not None

        back = await admin.patch(f"/users/{user}", json={"active": True})
        assert (back.status_code, back.json()["deactivated_at"]) == (200, None)
        assert (await eve.get(f"/projects/{project}")).status_code == 200

    assert (await kinds(admin))[-3:] == ["user_deactivated", "user_deactivated", "user_changed"]


async def test_the_last_administrator_stays(app: FastAPI, admin: httpx.AsyncClient) -> None:
    me = (await admin.get("/auth/me")).json()["id"]

    assert (await admin.delete(f"/users/{me}")).status_code == 409
    assert (await admin.patch(f"/users/{me}", json={"role": "member"})).status_code == 409
    assert (await admin.patch(f"/users/{me}", json={"active": False})).status_code == 409
    user, key = await eves_key(admin, role="admin")
    async with calling(app, key) as eve:
        answers = await asyncio.gather(eve.delete(f"/users/{me}"), admin.delete(f"/users/{user}"))
    assert sorted(answer.status_code for answer in answers) in ([204, 401], [204, 409])


async def test_a_changed_user_is_changed_only_where_asked(admin: httpx.AsyncClient) -> None:
    user, _ = await eves_key(admin)

    changed = (await admin.patch(f"/users/{user}", json={"role": "admin"})).json()

    assert (changed["name"], changed["role"], changed["deactivated_at"]) == ("Eve", "admin", None)
    assert (await admin.patch(f"/users/{user}", json={"role": "god"})).status_code == 422
    assert (await admin.patch(f"/users/{user}", json={"active": "no"})).status_code == 422
    assert (await admin.patch(f"/users/{NOBODY}", json={"name": "x"})).status_code == 404


async def test_only_administrators_have_keys_with_the_scope_admin(app: FastAPI, admin: httpx.AsyncClient) -> None:
    user, key = await eves_key(admin)
    path = f"/users/{user}/api-keys"

    assert [item["scope"] for item in (await admin.get(path)).json()["items"]] == ["write"]
    assert (await admin.post(path, json={"name": "x", "scope": "admin"})).status_code == 403
    async with calling(app, key) as eve:
        assert (await eve.post("/auth/api-keys", json={"name": "x", "scope": "admin"})).status_code == 403
        assert (await eve.post("/auth/api-keys", json={"name": "x"})).json()["scope"] == "write"
    own = await admin.post("/auth/api-keys", json={"name": "x"})
    assert (own.status_code, own.json()["scope"]) == (201, "admin")


@pytest.mark.parametrize("stored", [None, "full", "admin"])
async def test_a_key_of_an_earlier_release_keeps_everything_that_its_user_may_do(
    app: FastAPI, admin: httpx.AsyncClient, sessions: Sessions, stored: str | None
) -> None:
    _, key = await eves_key(admin, role="admin")
    async with sessions.begin() as session:
        await session.execute(update(ApiKey).values(scope=stored))

    async with calling(app, key) as eve:
        assert (await eve.get("/users")).status_code == 200
        assert (await eve.post("/auth/api-keys", json={"name": "x", "scope": "admin"})).status_code == 201
        assert {item["scope"] for item in (await eve.get("/auth/api-keys")).json()["items"]} == {"admin"}


async def test_a_key_shows_when_it_was_last_used_without_a_write_in_the_request(
    app: FastAPI, admin: httpx.AsyncClient
) -> None:
    user, key = await eves_key(admin)
    path = f"/users/{user}/api-keys"

    async def last_used() -> str | None:
        (listed,) = (await admin.get(path)).json()["items"]
        found: str | None = listed["last_used_at"]
        return found

    async with calling(app, key) as eve:
        for _ in range(3):
            assert (await eve.get("/auth/me")).status_code == 200
        assert await last_used() is None
        await app.state.key_uses.close()
        first = await last_used()
        assert first is not None
        assert abs(datetime.now(UTC) - datetime.fromisoformat(first)) < timedelta(minutes=1)

        # Within a minute nothing more is written; after it, the next use is.
        await eve.get("/auth/me")
        await app.state.key_uses.close()
        assert await last_used() == first
        async with app.state.sessions.begin() as session:
            earlier = datetime.now(UTC) - timedelta(minutes=2)
            await session.execute(update(ApiKey).values(last_used_at=earlier))
        await eve.get("/auth/me")
        await app.state.key_uses.close()
        assert datetime.fromisoformat(str(await last_used())) > earlier + timedelta(minutes=1)


async def test_an_expired_key_is_refused_and_named_as_such(
    app: FastAPI, admin: httpx.AsyncClient, sessions: Sessions
) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    user, key = await eves_key(admin, expires_at=soon.isoformat())
    async with calling(app, key) as eve:
        assert (await eve.get("/auth/me")).status_code == 200
        async with sessions.begin() as session:
            gone = datetime.now(UTC) - timedelta(seconds=1)
            await session.execute(update(ApiKey).where(ApiKey.user_id == user).values(expires_at=gone))
        refused = await eve.get("/auth/me")

    assert (refused.status_code, "has expired" in refused.json()["detail"]) == (401, True)


async def test_a_sign_in_link_invites_a_user_once(app: FastAPI, admin: httpx.AsyncClient) -> None:
    user, _ = await eves_key(admin)

    made = await admin.post(f"/users/{user}/sign-in-link")

    assert (made.status_code, made.headers["Cache-Control"]) == (201, "no-store")
    link = made.json()["url"]
    assert link.startswith("http://omoi/sign-in?code=")
    assert datetime.fromisoformat(made.json()["expires_at"]) > datetime.now(UTC) + timedelta(hours=23)
    async with calling(app) as browser, calling(app) as thief:
        browser.headers["Origin"] = "http://omoi"
        assert (await browser.get(link)).status_code == 303
        assert (await browser.get("/auth/me")).json()["email"] == EVE["email"]
        assert (await thief.get(link)).status_code == 403
    (entry,) = (await admin.get("/audit", params={"kind": "sign_in_link_created"})).json()["items"]
    assert (entry["actor_id"], entry["subject"]) == ("root@example.org", EVE["email"])
    assert link.partition("code=")[2] not in str(entry)


async def test_a_sign_in_link_is_for_administrators_to_create_and_for_active_users(
    app: FastAPI, admin: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    user, key = await eves_key(admin)
    path = f"/users/{user}/sign-in-link"

    assert (await ada.post(path)).status_code == 403
    async with calling(app, key) as eve:
        assert (await eve.post(path)).status_code == 403
    assert (await admin.post(f"/users/{NOBODY}/sign-in-link")).status_code == 404
    link = (await admin.post(path)).json()["url"]
    await admin.delete(f"/users/{user}")
    assert (await admin.post(path)).status_code == 409
    async with calling(app) as browser:
        assert (await browser.get(link)).status_code == 403


async def test_a_sign_in_link_leads_to_the_public_url(app: FastAPI, admin: httpx.AsyncClient) -> None:
    user, _ = await eves_key(admin)
    app.state.settings = app.state.settings.model_copy(update={"public_url": "https://omoi.example.org/"})

    made = (await admin.post(f"/users/{user}/sign-in-link")).json()["url"]

    assert made.startswith("https://omoi.example.org/sign-in?code=")
