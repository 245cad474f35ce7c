"""Attacks by way of a signed-in browser, and on the way in, over a real server."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from sqlalchemy import func, select, update
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from omoi_os.accounts.models import BrowserSession, SignInCode
from omoi_os.accounts.sessions import make_code
from omoi_os.db.base import Sessions
from tests.stream.conftest import server
from tests.stream.servers import PATIENCE, Person, Server, a_person, a_place

__all__ = ["server"]


def root(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}"


async def a_link(server: Server, sessions: Sessions, person: Person) -> str:
    async with sessions.begin() as session:
        code = await make_code(session, person.user, now=datetime.now(UTC))
    return f"{root(server)}/sign-in?code={code}"


@pytest.fixture
async def ada(sessions: Sessions) -> Person:
    return await a_person(sessions)


@pytest.fixture
async def browser(server: Server, sessions: Sessions, ada: Person) -> AsyncIterator[httpx.AsyncClient]:
    """Ada's browser; each request says which page makes it, as browsers do."""
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=PATIENCE) as client:
        assert (await client.get(await a_link(server, sessions, ada))).status_code == 303
        yield client


def cookie_of(browser: httpx.AsyncClient) -> str:
    return "; ".join(f"{name}={value}" for name, value in browser.cookies.items())


async def test_a_link_that_twenty_open_at_once_signs_one_in(server: Server, sessions: Sessions, ada: Person) -> None:
    link = await a_link(server, sessions, ada)
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        answers = await asyncio.gather(*(client.get(link) for _ in range(20)))

    assert sorted(answer.status_code for answer in answers) == [303] + [403] * 19
    assert sum("set-cookie" in answer.headers for answer in answers) == 1
    async with sessions() as session:
        assert await session.scalar(select(func.count()).select_from(BrowserSession)) == 1


async def test_a_wrong_used_or_expired_link_says_so_and_opens_nothing(
    server: Server, sessions: Sessions, ada: Person
) -> None:
    used, expired = await a_link(server, sessions, ada), await a_link(server, sessions, ada)
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        assert (await client.get(used)).status_code == 303
        async with sessions.begin() as session:
            await session.execute(update(SignInCode).values(expires_at=datetime.now(UTC) - timedelta(seconds=1)))
        wrong = [
            f"{root(server)}/sign-in",
            f"{root(server)}/sign-in?code=x",
            f"{root(server)}/sign-in?code={ada.token}",
        ]
        answers = [await client.get(link) for link in (used, expired, *wrong)]

    said = ["was already used", "has expired", *["not valid on this server"] * 3]
    for answer, sentence in zip(answers, said, strict=True):
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
        assert answer.headers["content-type"].startswith("text/html")
        assert sentence in answer.text.replace("&#x27;", "'")
        assert "<code>omoi sign-in</code>" in answer.text
        assert (answer.headers["cache-control"], answer.headers["referrer-policy"]) == ("no-store", "no-referrer")


async def test_an_expired_session_opens_nothing(server: Server, sessions: Sessions, browser: httpx.AsyncClient) -> None:
    assert (await browser.get("/projects")).status_code == 200
    async with sessions.begin() as session:
        await session.execute(update(BrowserSession).values(expires_at=datetime.now(UTC) - timedelta(seconds=1)))

    assert (await browser.get("/projects")).status_code == 401


async def test_a_session_in_the_address_or_the_header_opens_nothing(server: Server, browser: httpx.AsyncClient) -> None:
    """Attack 8."""
    (token,) = browser.cookies.values()
    async with httpx.AsyncClient(base_url=server.url, trust_env=False) as stranger:
        for name in ("token", "session", f"omoi_session_{server.port}"):
            assert (await stranger.get("/projects", params={name: token})).status_code == 401
        assert (await stranger.get("/projects", headers={"Authorization": f"Bearer {token}"})).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {},
    ],
    ids=str,
)
async def test_another_page_changes_nothing_with_the_browsers_cookie(
    server: Server, sessions: Sessions, browser: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    """Attack 43: each kind of forged request is refused; the same request of our own page succeeds."""
    place = await a_place(sessions)
    tries = (
        ("POST", "/projects", {"name": "forged"}),
        ("DELETE", f"/sandboxes/{place.sandbox_id}", None),
        ("POST", f"/sandboxes/{place.sandbox_id}/messages", {"content": "x", "message_type": "user_message"}),
        ("DELETE", "/auth/session", None),
    )
    for method, path, body in tries:
        assert (await browser.request(method, path, json=body, headers=headers)).status_code == 403, path

    assert (await browser.get("/projects")).json()["items"] == []
    own = {"Origin": root(server)}
    assert (await browser.post("/projects", json={"name": "x"}, headers=own)).status_code == 201


async def test_no_answer_lets_another_site_read_it(server: Server, browser: httpx.AsyncClient) -> None:
    """Attack 43: a preflight is not answered, and no answer names an origin."""
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answers = [await browser.options("/projects", headers=asked), await browser.get("/projects")]
    for answer in answers:
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


async def test_a_cookie_opens_no_gateway_socket_of_a_sandbox(
    server: Server, sessions: Sessions, ada: Person, browser: httpx.AsyncClient
) -> None:
    place = await a_place(sessions, ada)
    own = {"Origin": root(server)}
    path = f"/sandboxes/{place.sandbox_id}"
    event = {"event_type": "agent.message"}
    assert (await browser.post(f"{path}/events", json=event, headers=own)).status_code == 401
    assert (await browser.post(f"{path}/events/batch", json={"events": [event]}, headers=own)).status_code == 401
    assert (await browser.put(f"{path}/blobs/{'0' * 64}", content=b"x", headers=own)).status_code == 403
    assert (await browser.put(f"{path}/transcript?session_id=s", content=b"x", headers=own)).status_code == 403
    assert (await browser.get(f"{path}/messages", headers=own)).status_code == 403
    assert (await browser.get(path)).status_code == 200


async def test_a_sandboxs_token_or_a_key_is_no_cookie(server: Server, sessions: Sessions, ada: Person) -> None:
    place = await a_place(sessions, ada)
    for token in (place.token, ada.token):
        cookie = {"Cookie": f"omoi_session_{server.port}={token}"}
        async with httpx.AsyncClient(base_url=server.url, trust_env=False, headers=cookie) as client:
            assert (await client.get("/projects")).status_code == 401


def _socket(server: Server, browser: httpx.AsyncClient, **headers: str) -> connect:
    address = f"{server.url.replace('http', 'ws')}/ws/events"
    return connect(address, additional_headers={"Cookie": cookie_of(browser), **headers}, compression=None)


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Origin": "http://127.0.0.1:1"}, {}], ids=str)
async def test_another_page_hears_nothing_with_the_browsers_cookie(
    server: Server, sessions: Sessions, ada: Person, browser: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    """Attack 43: neither by WebSocket nor by server-sent events."""
    place = await a_place(sessions, ada)
    with pytest.raises(InvalidStatus) as refused:
        await _socket(server, browser, **headers)
    assert refused.value.response.status_code == 403
    if headers:
        path = f"/sandboxes/{place.sandbox_id}/events/stream"
        assert (await browser.get(path, headers=headers)).status_code == 403


async def test_a_browser_that_signs_out_is_closed_on_its_socket(server: Server, browser: httpx.AsyncClient) -> None:
    own = {"Origin": root(server)}
    async with _socket(server, browser, **own) as socket:
        assert (await browser.delete("/auth/session", headers=own)).status_code == 204
        with pytest.raises(ConnectionClosed) as closed:
            async with asyncio.timeout(PATIENCE):
                await socket.recv()

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008
