"""Attack 34 on the wire: heads without end, bodies said to be huge and senders without haste, many of them at once."""

import asyncio
from collections.abc import Sequence

import pytest

from omoi_os.db.base import Sessions
from omoi_os.http import wire
from tests.api_process import ApiProcess, Reporter, make_reporters

#: What the API may need more, whatever is sent to it.
MAX_GROWTH_KIB = 10 * 1024
AT_ONCE = 100
HUNG_UP = 0
BODY = b'{"event_type": "agent.message", "event_data": {}}'


@pytest.fixture
def api(shared_api: ApiProcess) -> ApiProcess:
    return shared_api


@pytest.fixture
def sessions(shared_sessions: Sessions) -> Sessions:
    return shared_sessions


@pytest.fixture
async def victim(sessions: Sessions) -> Reporter:
    return (await make_reporters(sessions, 1, at_work=True))[0]


class Caller:
    """One connection, on which anything can be said."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def connect(cls, api: ApiProcess) -> "Caller":
        return cls(*await asyncio.open_connection("127.0.0.1", api.port))

    async def send(self, *parts: bytes) -> None:
        """Part by part; the server may hang up before the last."""
        try:
            for part in parts:
                self._writer.write(part)
                await self._writer.drain()
        except ConnectionError:
            pass

    async def status(self) -> int:
        """Of the answer, which is all that is read; 0 for one that got lost because there was more to send."""
        try:
            line = await self._reader.readline()
        except ConnectionError:
            return HUNG_UP
        finally:
            # What is unsent would keep it open.
            self._writer.transport.abort()
        return int(line.split()[1])


def _head(victim: Reporter, more: Sequence[str] = (), *, size: int = len(BODY)) -> bytes:
    named = [f"{name}: {value}" for name, value in victim.headers.items()]
    lines = [f"POST {victim.path()} HTTP/1.1", "Host: localhost", f"Content-Length: {size}", *named, *more]
    return "\r\n".join([*lines, "", ""]).encode()


async def _ask(api: ApiProcess, *parts: bytes) -> int:
    caller = await Caller.connect(api)
    sending = asyncio.create_task(caller.send(*parts))
    try:
        return await caller.status()
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _warm(api: ApiProcess, victim: Reporter) -> int:
    """What the API needs once it has served as many as are about to come."""
    good = _head(victim) + BODY
    for _ in range(2):
        assert set(await asyncio.gather(*(_ask(api, good) for _ in range(AT_ONCE)))) == {200}
    return api.rss_kib


HEADS = {
    "10,000 headers": [f"x-{number}: y" for number in range(10_000)],
    "10,000 times the same header": ["x: y"] * 10_000,
    "one header of a megabyte": ["x: " + "y" * 1_000_000],
    "one name of a megabyte": ["x" * 1_000_000 + ": y"],
}


@pytest.mark.parametrize("name", HEADS)
async def test_a_head_without_end_is_refused_and_not_kept(api: ApiProcess, victim: Reporter, name: str) -> None:
    before = await _warm(api, victim)
    head = _head(victim, HEADS[name])

    statuses = await asyncio.gather(*(_ask(api, head, BODY) for _ in range(AT_ONCE)))

    assert set(statuses) <= {HUNG_UP, 400, 431}
    assert await _ask(api, head[: wire.MAX_HEAD_BYTES + 1]) in (400, 431)
    assert api.rss_kib - before <= MAX_GROWTH_KIB
    # Positive control: a head that is only long is read.
    assert await _ask(api, _head(victim, [f"x-{number}: {'y' * 100}" for number in range(80)]), BODY) == 200


async def test_a_body_that_is_said_to_be_huge_is_refused_before_it_is_sent(api: ApiProcess, victim: Reporter) -> None:
    before = await _warm(api, victim)

    statuses = await asyncio.gather(*(_ask(api, _head(victim, size=1 << 30)) for _ in range(AT_ONCE)))

    assert set(statuses) == {413}
    assert api.rss_kib - before <= MAX_GROWTH_KIB
    assert await _ask(api, _head(victim), BODY) == 200


async def test_who_sends_too_slowly_is_hung_up_on_and_delays_nobody(api: ApiProcess, victim: Reporter) -> None:
    before = await _warm(api, victim)
    begun = asyncio.get_running_loop().time()
    slow = [await Caller.connect(api) for _ in range(AT_ONCE + 1)]
    # Half of them are slow with the head, half with the body, and the last one says nothing at all.
    for caller in slow[:-1:2]:
        await caller.send(_head(victim)[:40])
    for caller in slow[1:-1:2]:
        await caller.send(_head(victim) + BODY[:10])
    ends = asyncio.gather(*(caller.status() for caller in slow))

    # Positive controls: others are served meanwhile, one that comes in two parts among them.
    head = _head(victim)
    assert await _ask(api, head[:40], head[40:], BODY) == 200
    assert not ends.done()
    growth = api.rss_kib - before
    while not ends.done():
        for caller in slow[:10]:
            await caller.send(b"x")
        await asyncio.wait({ends}, timeout=0.5)

    assert set(await ends) == {408}
    assert asyncio.get_running_loop().time() - begun >= wire.HEAD_SECONDS - 1
    assert growth <= MAX_GROWTH_KIB
    assert await _ask(api, _head(victim), BODY) == 200
