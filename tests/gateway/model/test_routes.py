"""Model calls through a gateway socket: what is forwarded to the model's host, and what comes back."""

import asyncio
import json
from io import BytesIO

import pytest
from aiohttp import ClientError, web

from omoi_os.sandboxes.lifecycle import Purpose
from tests.gateway.answers import BODY, STREAM, saying, streaming
from tests.gateway.conftest import KEY, OpenSocket, Start
from tests.gateway.places import Host

BETA = "interleaved-thinking-2025-05-14"


async def test_the_real_key_replaces_the_sandbox_s_token(open_socket: OpenSocket, start: Start, model: Host) -> None:
    gateway_socket = await open_socket()
    await start()
    model.answer = streaming(*STREAM)
    headers = {
        "x-api-key": gateway_socket.token,
        "anthropic-version": "2023-06-01",
        "anthropic-beta": BETA,
        "Cookie": "c=1",
    }

    async with gateway_socket.client(**headers) as client:
        async with client.post("/v1/messages?beta=true", json=BODY) as answer:
            assert await answer.read() == b"".join(STREAM)
            assert "anthropic-organization-id" not in answer.headers
            assert KEY not in str(answer.headers)

    (asked,) = model.asked
    assert asked.headers["x-api-key"] == KEY
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert asked.headers["anthropic-beta"] == BETA
    assert "Authorization" not in asked.headers
    assert "Cookie" not in asked.headers
    assert gateway_socket.token not in str(asked.headers)
    assert asked.path == "/v1/messages?beta=true"
    assert json.loads(asked.body) == BODY


async def test_the_token_is_accepted_in_the_api_key_header(open_socket: OpenSocket, start: Start, model: Host) -> None:
    gateway_socket = await open_socket()
    await start()
    model.answer = streaming(*STREAM)

    async with gateway_socket.client(token="", **{"x-api-key": gateway_socket.token}) as client:
        async with client.post("/v1/messages", json=BODY) as answer:
            assert answer.status == 200


async def test_each_piece_arrives_before_the_next_is_sent(open_socket: OpenSocket, start: Start, model: Host) -> None:
    gateway_socket = await open_socket()
    await start()
    arrived = asyncio.Semaphore(1)

    async def until_the_last_has_arrived(_number: int) -> None:
        await arrived.acquire()

    model.answer = streaming(*STREAM, before_each=until_the_last_has_arrived)
    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=BODY) as answer:
            seen = []
            async for chunk in answer.content.iter_any():
                seen.append(chunk)
                arrived.release()

    assert seen == STREAM


async def test_a_long_conversation_is_forwarded_completely(open_socket: OpenSocket, start: Start, model: Host) -> None:
    gateway_socket = await open_socket()
    await start()
    body = json.dumps(BODY | {"system": "x" * (8 << 20)}).encode()

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", data=BytesIO(body)) as answer:
            assert answer.status == 200

    assert json.loads(model.asked[0].body) == json.loads(body)


async def test_a_stream_that_breaks_upstream_breaks_for_the_agent_too(
    open_socket: OpenSocket, start: Start, model: Host
) -> None:
    gateway_socket = await open_socket()
    await start()
    arrived = asyncio.Event()

    async def breaking(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(STREAM[0])
        await arrived.wait()
        assert request.transport is not None
        request.transport.close()
        return response

    model.answer = breaking
    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=BODY) as answer:
            assert await answer.content.readany() == STREAM[0]
            arrived.set()
            with pytest.raises(ClientError):
                await answer.content.read()


async def test_an_unreachable_host_is_a_temporary_failure(open_socket: OpenSocket, start: Start) -> None:
    gateway_socket = await open_socket()
    await start(anthropic_base_url="http://127.0.0.1:9")

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=BODY) as answer:
            assert answer.status == 502
            assert "does not answer" in (await answer.json())["error"]["message"]
            assert "x-should-retry" not in answer.headers


async def test_a_redirect_is_not_followed_with_the_key(open_socket: OpenSocket, start: Start, model: Host) -> None:
    gateway_socket = await open_socket()
    await start()
    model.answer = saying(307, {}, Location=f"{model.url}/elsewhere")

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=BODY) as answer:
            assert answer.status == 502

    assert [asked.path for asked in model.asked] == ["/v1/messages"]


async def test_a_configured_model_replaces_the_requested_one(
    open_socket: OpenSocket, start: Start, model: Host
) -> None:
    gateway_socket = await open_socket()
    await start(model="claude-haiku-4-5")

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=BODY) as answer:
            await answer.read()

    assert json.loads(model.asked[0].body) == BODY | {"model": "claude-haiku-4-5"}


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/v1/models"), ("POST", "/v1/files"), ("GET", "/v1/messages"), ("POST", "/v1/messages/batches")],
)
async def test_other_paths_of_the_model_s_api_are_refused(
    open_socket: OpenSocket, start: Start, model: Host, method: str, path: str
) -> None:
    gateway_socket = await open_socket()
    await start()

    async with gateway_socket.client() as client:
        async with client.request(method, path) as answer:
            assert answer.status == 403
            assert (await answer.json())["error"]["type"] == "permission_error"

    assert model.asked == []


async def test_errors_of_the_gateway_socket_have_the_form_of_the_model_s_api(
    open_socket: OpenSocket, start: Start
) -> None:
    gateway_socket = await open_socket()
    await start()

    async with gateway_socket.client(token="sbx_wrong") as client:
        async with client.post("/v1/messages", json=BODY) as answer:
            assert answer.status == 401
            assert (await answer.json())["error"]["type"] == "authentication_error"
    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", data=b"[1") as answer:
            assert (answer.status, answer.headers["x-should-retry"]) == (400, "false")
        async with client.head("/api/hello") as answer:
            assert answer.status == 200


async def test_a_sandbox_that_verifies_calls_no_model(open_socket: OpenSocket, start: Start, model: Host) -> None:
    gateway_socket = await open_socket(purpose=Purpose.VERIFY)
    await start()

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=BODY) as answer:
            assert answer.status == 403

    assert model.asked == []
