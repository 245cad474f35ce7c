"""Signing in and out over HTTP."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select

from omoi_os.accounts.models import BrowserSession
from omoi_os.accounts.repository import by_email
from omoi_os.accounts.session_routes import own_path
from omoi_os.accounts.sessions import make_code
from omoi_os.db.base import Sessions
from omoi_os.ids import token_hash
from tests.api.conftest import BASE, Worker, a_key, browsing, calling

COOKIE = "omoi_session_18000"


async def test_a_link_signs_a_browser_in_and_leads_to_the_page(app: FastAPI, sessions: Sessions) -> None:
    await a_key(sessions, "eve")
    async with browsing(app, sessions, email="eve@example.org") as browser:
        me = await browser.get("/auth/me")
        made = await browser.post("/projects", json={"name": "x"})

        assert me.json() == me.json() | {"email": "eve@example.org", "name": "eve", "role": "member", "via": "session"}
        assert made.status_code == 201


async def test_the_cookie_is_out_of_reach_for_scripts_and_other_sites(app: FastAPI, sessions: Sessions) -> None:
    key = await a_key(sessions, "eve")
    async with calling(app, key) as plain, calling(app, key, base=BASE.replace("http:", "https:")) as safe:
        answers = [await client.post("/auth/session") for client in (plain, safe)]
        answers.append(await plain.post("/auth/session", headers={"X-Forwarded-Proto": "https"}))

    cookies = [answer.headers["set-cookie"] for answer in answers]
    assert all(answer.json()["via"] == "session" for answer in answers)
    assert all(cookie.startswith(f"{COOKIE}=ses_") for cookie in cookies)
    assert all(part in cookie for cookie in cookies for part in ("; HttpOnly", "; Path=/", "; SameSite=lax"))
    assert ["; Secure" in cookie for cookie in cookies] == [False, True, True]


async def test_only_the_hash_of_a_session_is_kept(app: FastAPI, sessions: Sessions) -> None:
    async with calling(app, await a_key(sessions, "eve")) as client:
        await client.post("/auth/session")
        token = client.cookies[COOKIE]

    async with sessions() as session:
        assert (await session.execute(select(BrowserSession.token_hash))).scalar_one() == token_hash(token)


async def test_a_key_says_who_one_is_and_has_no_session_to_end(ada: httpx.AsyncClient) -> None:
    assert (await ada.get("/auth/me")).json()["via"] == "key"
    assert (await ada.delete("/auth/session")).status_code == 409


async def test_a_signed_in_browser_needs_no_second_session(app: FastAPI, sessions: Sessions) -> None:
    await a_key(sessions, "eve")
    async with browsing(app, sessions, email="eve@example.org") as browser:
        assert (await browser.post("/auth/session")).status_code == 409


async def test_signing_out_ends_the_session_itself(app: FastAPI, sessions: Sessions) -> None:
    await a_key(sessions, "eve")
    async with browsing(app, sessions, email="eve@example.org") as browser:
        token = browser.cookies[COOKIE]
        out = await browser.delete("/auth/session")

        assert (out.status_code, browser.cookies.get(COOKIE)) == (204, None)
        assert (await browser.get("/auth/me")).status_code == 401
        browser.cookies.set(COOKIE, token)
        assert (await browser.get("/auth/me")).status_code == 401


async def test_a_session_ends_with_the_key_that_opened_it(app: FastAPI, sessions: Sessions) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    async with calling(app, await a_key(sessions, "eve", expires_at=soon)) as client:
        await client.post("/auth/session")
        async with sessions() as session:
            assert (await session.execute(select(BrowserSession.expires_at))).scalar_one() == soon
        (key,) = (await client.get("/auth/api-keys")).json()["items"]
        assert (await client.delete(f"/auth/api-keys/{key['id']}")).status_code == 204
        del client.headers["Authorization"]
        assert (await client.get("/auth/me")).status_code == 401


async def test_a_reading_key_and_a_sandboxs_token_open_no_session(
    app: FastAPI, sessions: Sessions, worker: Worker
) -> None:
    async with calling(app, await a_key(sessions, "eve", scope="read")) as reader:
        assert (await reader.post("/auth/session")).status_code == 403
    assert (await worker.client.post("/auth/session")).status_code == 403
    assert (await worker.client.get("/auth/me")).status_code == 403


@pytest.mark.parametrize("wanted", ["/", "/sandbox/omoios-1-2?ev=3", "/board?status=done#x"])
def test_a_path_of_this_server_is_gone_to(wanted: str) -> None:
    assert own_path(wanted) == wanted


@pytest.mark.parametrize(
    "wanted",
    [
        "",
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "\\\\evil",
        "/\t/evil",
        "javascript:alert(1)",
        "x",
    ],
)
def test_a_place_elsewhere_is_not(wanted: str) -> None:
    assert own_path(wanted) == "/"


async def test_the_link_goes_where_it_says_on_this_server_only(app: FastAPI, sessions: Sessions) -> None:
    await a_key(sessions, "eve")
    for wanted, place in (("/board", "/board"), ("//evil.example/", "/")):
        async with calling(app, base="http://omoi") as client:
            code = await _code(sessions)
            answer = await client.get("/sign-in", params={"code": code, "next": wanted})

        assert (answer.status_code, answer.headers["location"]) == (303, place)
        assert (answer.headers["cache-control"], answer.headers["referrer-policy"]) == ("no-store", "no-referrer")


async def test_a_link_that_is_only_looked_at_ahead_stays_good(app: FastAPI, sessions: Sessions) -> None:
    await a_key(sessions, "eve")
    code = await _code(sessions)
    async with calling(app, base="http://omoi") as client:
        ahead = await client.get("/sign-in", params={"code": code}, headers={"Sec-Purpose": "prefetch;prerender"})
        head = await client.head("/sign-in", params={"code": code})
        opened = await client.get("/sign-in", params={"code": code})

    assert (ahead.status_code, head.status_code, opened.status_code) == (503, 405, 303)


async def _code(sessions: Sessions) -> str:
    async with sessions.begin() as session:
        user = await by_email(session, "eve@example.org")
        assert user is not None
        return await make_code(session, user, now=datetime.now(UTC))
