"""The API's calls that a sandbox may make, through its gateway socket."""

import asyncio
import hashlib
from io import BytesIO

import pytest

from omoi_os.audit.repository import list_entries
from omoi_os.db.base import Sessions
from omoi_os.gateway.context import PARTS
from tests.gateway.conftest import OpenSocket, Start
from tests.gateway.places import Host

BLOB = hashlib.sha256(b"x").hexdigest()


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("POST", "events"),
        ("POST", "events/batch"),
        ("PUT", f"blobs/{BLOB}"),
        ("PUT", "transcript?session_id=a-b"),
        ("GET", "messages?wait=25"),
        ("POST", "messages/ack"),
        ("GET", "task"),
    ],
)
async def test_a_sandbox_s_own_calls_go_to_the_api_with_its_token(
    open_socket: OpenSocket, start: Start, api: Host, method: str, call: str
) -> None:
    gateway_socket = await open_socket()
    await start()
    data = None if method == "GET" else b'{"a": 1}'

    async with gateway_socket.client(Cookie="c=1", **{"X-Forwarded-For": "x"}) as client:
        async with client.request(method, f"{gateway_socket.own}/{call}", data=data) as answer:
            assert (answer.status, await answer.json()) == (200, {})

    (asked,) = api.asked
    assert (asked.method, asked.path, asked.body) == (method, f"{gateway_socket.own}/{call}", data or b"")
    assert asked.headers["Authorization"] == f"Bearer {gateway_socket.token}"
    assert not {"Cookie", "X-Forwarded-For"} & set(asked.headers)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/projects"),
        ("POST", "/api/v1/users"),
        ("DELETE", "{own}"),
        ("GET", "{own}/events"),
        ("GET", "{own}/transcript"),
        ("POST", "{own}/messages"),
        ("PUT", "{own}/blobs/x"),
        ("POST", "{own}/events/../../other/events"),
        ("POST", "{own}/events%2F..%2Fbatch"),
    ],
)
async def test_no_other_call_reaches_the_api(
    open_socket: OpenSocket, start: Start, api: Host, method: str, path: str
) -> None:
    gateway_socket = await open_socket()
    await start()

    async with gateway_socket.client() as client:
        async with client.request(method, path.format(own=gateway_socket.own)) as answer:
            assert answer.status in (403, 404)
            assert answer.content_type == "application/problem+json"

    assert api.asked == []


async def test_calls_for_another_sandbox_are_not_found_and_audited(
    open_socket: OpenSocket, start: Start, api: Host, sessions: Sessions
) -> None:
    gateway_socket, other = await open_socket(), await open_socket()
    await start()

    async with gateway_socket.client() as client:
        async with client.post(f"{other.own}/events", json={}) as answer:
            assert answer.status == 404
        # Another's token does not pass this gateway socket either.
        async with client.get(f"{other.own}/task", headers={"Authorization": f"Bearer {other.token}"}) as answer:
            assert answer.status == 404
        async with client.get(f"{gateway_socket.own}/task") as answer:
            assert answer.status == 200

    assert len(api.asked) == 1
    async with sessions() as session:
        (entry,) = await list_entries(session, kind=None, actor_id=None, limit=10, before=None)
    assert (entry.kind, entry.actor_id, entry.subject) == (
        "foreign_sandbox",
        gateway_socket.sandbox.id,
        other.sandbox.id,
    )


async def test_an_unreachable_api_is_answered_with_a_retryable_error(open_socket: OpenSocket, start: Start) -> None:
    gateway_socket = await open_socket()
    await start(api_url="http://127.0.0.1:9")

    async with gateway_socket.client() as client:
        async with client.post(f"{gateway_socket.own}/events", json={}) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
            assert (await answer.json())["code"] == "not_ready"


async def _refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """An API that reads only the length and closes the connection."""
    asked = await reader.readuntil(b"\r\n\r\n")
    assert b"100-continue" in asked
    writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno.")
    writer.close()
    await writer.wait_closed()


async def test_a_refusal_is_heard_before_a_large_body_is_sent(open_socket: OpenSocket, start: Start) -> None:
    gateway_socket = await open_socket()
    async with await asyncio.start_server(_refuse, "127.0.0.1", 0) as server:
        await start(api_url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        async with gateway_socket.client() as client:
            async with client.post(f"{gateway_socket.own}/events", data=BytesIO(b"x" * (10 << 20))) as answer:
                assert (answer.status, await answer.read()) == (413, b"no.")


async def test_a_large_body_arrives_completely(open_socket: OpenSocket, start: Start, api: Host) -> None:
    gateway_socket = await open_socket()
    await start()
    body = bytes(range(256)) * 40_000

    async with gateway_socket.client() as client:
        async with client.put(f"{gateway_socket.own}/transcript", data=BytesIO(body)) as answer:
            assert answer.status == 200

    assert api.asked[0].body == body
    assert api.asked[0].headers["Content-Length"] == str(len(body))


async def test_refused_calls_leave_one_entry_for_an_hour(
    open_socket: OpenSocket, start: Start, *, model: Host, sessions: Sessions
) -> None:
    gateway_socket = await open_socket()
    runner = await start()
    image = {"type": "image", "source": {"type": "url", "url": "https://attacker.example"}}
    asked = {"model": "m", "messages": [{"role": "user", "content": [image]}]}

    async with gateway_socket.client() as client:
        for _ in range(20):
            async with client.get("/api/v1/projects") as answer:
                assert answer.status == 403
            async with client.post("/v1/messages", json=asked) as answer:
                assert answer.status == 400
    await runner.app[PARTS].trail.close()

    async with sessions() as session:
        (entry,) = await list_entries(session, kind=None, actor_id=gateway_socket.sandbox.id, limit=10, before=None)
    assert (entry.kind, entry.subject, entry.count) == ("refused_call", "GET /api/v1/projects", 40)
    assert model.asked == []
