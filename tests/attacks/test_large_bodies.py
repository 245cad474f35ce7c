"""Large bodies and answers of one sandbox neither delay the others nor take the API's memory."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import aiohttp
import pytest

from omoi_os.db.base import Sessions
from omoi_os.http.downloads import MAX_EACH
from tests.api_process import ApiProcess, Reporter, batch_body, make_reporters

KIB = 1024
MIB = 1024 * KIB
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


#: What the API may grow by, whatever is sent to it or asked of it. Not streamed, each of these takes ten times as much.
GROWTH_KIB = 160 * 1024
ADMIN = {"Authorization": "Bearer omoi_the-administrators-own-key-of-this-test"}


def _forget_peak(api: ApiProcess) -> int:
    """Restart the measurement, so that earlier tests do not count."""
    assert api.process is not None
    Path(f"/proc/{api.process.pid}/clear_refs").write_text("5")
    return api.peak_rss_kib


async def _put_transcript(http: aiohttp.ClientSession, api: ApiProcess, who: Reporter, *, parts: int) -> None:
    """Save a conversation of 16 MiB for each part, which is a few KiB in the database."""
    lines = (b'{"sessionId":"s","text":"' + b"a" * (MIB - 28) + b'"}\n') * 16
    for number in range(parts):
        path = f"/transcript?session_id=s&offset={number * len(lines)}"
        async with http.put(api.url + who.path(path), data=BytesIO(lines), headers=who.headers) as answer:
            assert answer.status == 200, await answer.text()


async def _unread(api: ApiProcess, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Ask for something, read the first line of the answer and then nothing more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port, limit=KIB)
    head = [
        f"GET {path} HTTP/1.1",
        f"Host: 127.0.0.1:{api.port}",
        *(f"{name}: {value}" for name, value in ADMIN.items()),
    ]
    writer.write("\r\n".join([*head, "", ""]).encode())
    await writer.drain()
    return reader, writer


async def test_downloads_that_nobody_reads_take_little_memory(
    http: aiohttp.ClientSession, shared_api: ApiProcess, shared_sessions: Sessions
) -> None:
    (who,) = await make_reporters(shared_sessions, 1, at_work=True)
    await _put_transcript(http, shared_api, who, parts=8)
    before = _forget_peak(shared_api)

    connections = [await _unread(shared_api, who.path("/transcript")) for _ in range(6)]
    try:
        statuses = [(await reader.readline()).split()[1] for reader, _ in connections]
        # One that is read meanwhile comes whole.
        async with http.get(shared_api.url + who.path("/transcript"), headers=ADMIN) as answer:
            size = 0
            async for chunk in answer.content.iter_any():
                size += len(chunk)
    finally:
        for _, writer in connections:
            writer.transport.abort()

    assert statuses == [b"200"] * 6
    assert size == 8 * 16 * MIB
    assert shared_api.peak_rss_kib - before < GROWTH_KIB


async def test_one_user_has_only_so_many_downloads_under_way(
    http: aiohttp.ClientSession, shared_api: ApiProcess, shared_sessions: Sessions
) -> None:
    (who,) = await make_reporters(shared_sessions, 1, at_work=True)
    await _put_transcript(http, shared_api, who, parts=2)

    connections = [await _unread(shared_api, who.path("/transcript")) for _ in range(MAX_EACH)]
    try:
        assert [(await reader.readline()).split()[1] for reader, _ in connections] == [b"200"] * MAX_EACH
        async with http.get(shared_api.url + who.path("/transcript"), headers=ADMIN) as answer:
            assert answer.status == 429
    finally:
        for _, writer in connections:
            writer.transport.abort()
    async with asyncio.timeout(LIMIT_SECONDS):
        while await _is_refused(http, shared_api, who.path("/transcript")):
            pass


async def _is_refused(http: aiohttp.ClientSession, api: ApiProcess, path: str) -> bool:
    async with http.get(api.url + path, headers=ADMIN) as answer:
        return answer.status == 429


async def test_pages_and_logs_of_large_events_take_little_memory(
    http: aiohttp.ClientSession, shared_api: ApiProcess, shared_sessions: Sessions
) -> None:
    (who,) = await make_reporters(shared_sessions, 1, at_work=True)
    text = "ab" * (450 * KIB)
    for number in range(60):
        body = batch_body([{"event_type": "agent.message", "event_data": {"text": text}, "seq": number + 1}])
        # A refusal is held back by the server, so this waits by itself.
        async with asyncio.timeout(LIMIT_SECONDS):
            while (status := await _post(http, shared_api, who, body, "/events/batch")) == 429:
                pass
        assert status == 200
    before = _forget_peak(shared_api)

    async def pages() -> int:
        found, query = 0, "?limit=500&event_type=agent.message"
        while True:
            async with http.get(shared_api.url + who.path(f"/events{query}"), headers=ADMIN) as answer:
                page = await answer.json()
            found += len(page["items"])
            if page["next_cursor"] is None:
                return found
            query = f"?limit=500&event_type=agent.message&cursor={page['next_cursor']}"

    assert await pages() == 60
    async with http.get(shared_api.url + who.path("/logs"), headers=ADMIN) as answer:
        size = 0
        async for chunk in answer.content.iter_any():
            size += len(chunk)
    assert size > 60 * len(text)
    assert shared_api.peak_rss_kib - before < GROWTH_KIB


async def test_uploads_at_a_time_take_the_memory_of_one(
    http: aiohttp.ClientSession, shared_api: ApiProcess, shared_sessions: Sessions
) -> None:
    senders = await make_reporters(shared_sessions, 8, at_work=True)
    content = b"0" * (24 * MIB)
    path = f"/blobs/{hashlib.sha256(content).hexdigest()}"
    before = _forget_peak(shared_api)

    async def put(who: Reporter) -> int:
        async with http.put(shared_api.url + who.path(path), data=BytesIO(content), headers=who.headers) as answer:
            await answer.read()
            return answer.status

    assert set(await asyncio.gather(*(put(who) for who in senders))) == {200}
    # A value is held as it came, as text, and as the database takes it.
    assert shared_api.peak_rss_kib - before < 12 * 24 * KIB
    async with http.get(shared_api.url + senders[0].path(path), headers=ADMIN) as answer:
        assert await answer.read() == content
