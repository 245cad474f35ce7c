"""Large hostile bodies of one sandbox delay no other sandbox."""

import asyncio
import time
from collections.abc import AsyncIterator
from io import BytesIO

import aiohttp
import pytest

from omoi_os.db.base import Sessions
from tests.api_process import ApiProcess, Reporter, batch_body, make_reporters

MIB = 1024 * 1024
LARGEST = 4 * MIB - 1024
#: Bodies of the largest size that is taken, valid and not.
BODIES = {
    "escaped quotes without an end": b'{"events":[{"seq":1,"a":"' + b'\\"' * (LARGEST // 2),
    "a million lists": b'{"events":[' + b"[]," * (LARGEST // 3) + b"[]]}",
    "keys that do not end": batch_body(
        [
            {"event_type": "agent.message", "event_data": {"text": "-----BEGIN RSA PRIVATE KEY-----\n" * 30_000}}
            for _ in range(4)
        ]
    ),
    "closing brackets": b'{"events":[' + b"]" * LARGEST,
}
#: So much longer may a post take while those come in, or this long on a machine that is busy with other things.
FACTOR, PATIENCE_SECONDS = 20.0, 3.0
#: For all of it; what is quadratic takes hours.
LIMIT_SECONDS = 60.0


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=LIMIT_SECONDS)) as session:
        yield session


async def _post(http: aiohttp.ClientSession, api: ApiProcess, who: Reporter, body: bytes, rest: str = "/events") -> int:
    async with http.post(api.url + who.path(rest), data=BytesIO(body), headers=who.headers) as answer:
        await answer.read()
        return answer.status


async def _longest(
    http: aiohttp.ClientSession, api: ApiProcess, who: Reporter, *, until: "asyncio.Future[list[int]]"
) -> float:
    """How long the slowest of many small posts took, until something is over and at least ten were sent."""
    longest, sent = 0.0, 0
    while not until.done() or sent < 10:
        start = time.monotonic()
        assert await _post(http, api, who, b'{"event_type":"agent.message","event_data":{"text":"a"}}') == 200
        longest, sent = max(longest, time.monotonic() - start), sent + 1
    return longest


@pytest.mark.parametrize("name", BODIES)
async def test_a_large_hostile_body_delays_no_other_sandbox(
    name: str, http: aiohttp.ClientSession, shared_api: ApiProcess, shared_sessions: Sessions
) -> None:
    other, *hostile = await make_reporters(shared_sessions, 3, at_work=True)
    nothing: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
    nothing.set_result([])
    alone = await _longest(http, shared_api, other, until=nothing)

    posts = asyncio.gather(*(_post(http, shared_api, one, BODIES[name], "/events/batch") for one in hostile))
    beside = await _longest(http, shared_api, other, until=posts)

    assert set(await posts) <= {200, 413, 422, 429}
    assert beside <= max(FACTOR * alone, PATIENCE_SECONDS)
