"""Large model bodies of one sandbox neither stall the gateway nor take its memory."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO

import pytest
from aiohttp import web

from omoi_os.gateway.model.bodies import Bodies
from tests.gateway.answers import BODY
from tests.gateway.conftest import OpenSocket, Start
from tests.gateway.places import Host

LARGEST = 30 << 20
#: Less is no stall: a busy machine may not run a process for that long.
PATIENCE_SECONDS = 0.5


def _request(text: bytes) -> bytes:
    """A request whose one message holds this JSON."""
    head = json.dumps({**BODY, "messages": ["here"]}).encode()
    return head.replace(b'"here"', b'{"role":"user","content":' + text + b"}")


#: The largest bodies that are taken, and what becomes of them.
REQUESTS = {
    "ten million lists": (_request(b"[" + b"[]," * (LARGEST // 3) + b"[]]"), 400),
    "quotes": (_request(b'"' + b'\\"' * (LARGEST // 2) + b'"'), 200),
    "marks of messages": (_request(b'"' + b"[message 018f3c2e-7b1a-" * (LARGEST // 23) + b'"'), 200),
}


_TICK_SECONDS = 0.01


class Lag:
    """The longest time for which the event loop did nothing else."""

    longest = 0.0

    async def measure(self) -> None:
        while True:
            start = time.monotonic()
            await asyncio.sleep(_TICK_SECONDS)
            self.longest = max(self.longest, time.monotonic() - start - _TICK_SECONDS)


@asynccontextmanager
async def lagging() -> AsyncIterator[Lag]:
    lag = Lag()
    task = asyncio.create_task(lag.measure())
    try:
        yield lag
    finally:
        task.cancel()


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("scripted", [False, True])
async def test_a_large_body_does_not_stall_the_gateway(
    name: str, scripted: bool, open_socket: OpenSocket, start: Start, model: Host
) -> None:
    gateway_socket = await open_socket()
    await start(anthropic_api_key=None) if scripted else await start()

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.json_response({"usage": {"input_tokens": 1, "output_tokens": 1}})

    model.answer = answer
    body, status = REQUESTS[name]
    parsing = time.monotonic()
    await asyncio.to_thread(json.loads, b"[" + b"[]," * (LARGEST // 15) + b"[]]")
    # How long a parser holds everything up here and now, with all the other work of this machine.
    stalled = 5 * (time.monotonic() - parsing)

    async with gateway_socket.client() as client, lagging() as lag:
        async with client.post("/v1/messages", data=BytesIO(body)) as reply:
            await reply.read()

    # The scripted model has no script for this.
    assert reply.status == (400 if scripted else status)
    assert lag.longest < max(stalled / 2, PATIENCE_SECONDS)


async def test_large_bodies_of_one_sandbox_wait_and_those_of_others_do_not() -> None:
    bodies = Bodies(each=10, total=25)
    entered: list[str] = []
    leave = asyncio.Event()

    async def hold(sandbox: str, size: int) -> None:
        async with bodies.held(sandbox, size):
            entered.append(f"{sandbox}{size}")
            await leave.wait()

    tasks = [asyncio.create_task(hold(*one)) for one in (("a", 30), ("a", 1), ("b", 5))]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert entered == ["a30"]
    leave.set()
    await asyncio.gather(*tasks)
    assert sorted(entered) == ["a1", "a30", "b5"]
