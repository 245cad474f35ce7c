"""Delivery against a real server that misbehaves."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from omoi_os.protocol.events import Event
from omoi_os.worker.reporter import delivery
from omoi_os.worker.reporter.api import Api, Superseded
from omoi_os.worker.reporter.blobs import Blobs
from omoi_os.worker.reporter.spool import Spool
from omoi_os.worker.reporter.truncation import bounded
from tests.worker.platform import API, TOKEN, Platform


def api_of(platform: Platform, token: str = TOKEN) -> Api:
    return Api(f"{platform.url}{API}/events", token)


@pytest.fixture
def blobs(root: Path) -> Blobs:
    return Blobs(root / "blobs")


@pytest.fixture
async def spool(root: Path, platform: Platform, blobs: Blobs) -> AsyncIterator[Spool]:
    """A spool that is being delivered to the platform."""
    spool = Spool(root / "spool")
    task = asyncio.create_task(delivery.deliver(spool, api_of(platform), blobs=blobs))
    yield spool
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    spool.close()


def texts(platform: Platform) -> list[str]:
    return [event["event_data"].get("text", "-") for event in platform.events]


async def test_events_arrive_in_order_and_are_forgotten(spool: Spool, platform: Platform) -> None:
    for number in range(250):
        spool.append(Event("agent.message", {"text": str(number)}))
    await asyncio.wait_for(spool.wait_until_empty(), 30)

    assert texts(platform) == [str(number) for number in range(250)]


async def test_a_server_that_is_away_is_waited_for(spool: Spool, platform: Platform) -> None:
    await platform.stop()
    spool.append(Event("agent.message", {"text": "a"}))
    await platform.start()
    await asyncio.wait_for(spool.wait_until_empty(), 30)
    assert texts(platform) == ["a"]


async def test_a_server_that_forgot_gets_everything_again(spool: Spool, platform: Platform) -> None:
    spool.append(Event("agent.message", {"text": "a"}))
    await asyncio.wait_for(spool.wait_until_empty(), 30)
    platform.events.clear()
    spool.append(Event("agent.message", {"text": "b"}))
    await platform.wait_for(lambda: len(platform.events) == 2)

    assert texts(platform) == ["a", "b"]


async def test_a_batch_that_is_too_large_is_halved_until_it_fits(spool: Spool, platform: Platform) -> None:
    platform.max_batch_bytes = 3000
    for number in range(16):
        spool.append(Event("agent.message", {"text": f"{number:0500}"}))
    await asyncio.wait_for(spool.wait_until_empty(), 30)

    assert [int(text) for text in texts(platform)] == list(range(16))
    assert platform.refused > 0


async def test_an_event_that_is_never_taken_becomes_a_stub_and_the_rest_follows(
    spool: Spool, platform: Platform
) -> None:
    platform.max_batch_bytes = 3000
    for text in ("a", "x" * 5000, "b"):
        spool.append(Event("agent.message", {"text": text}))
    await asyncio.wait_for(spool.wait_until_empty(), 30)

    assert texts(platform) == ["a", "-", "b"]
    assert platform.events[1]["event_data"]["size"] > 5000


async def test_a_blob_is_there_before_the_event_that_names_it(
    spool: Spool, platform: Platform, blobs: Blobs, root: Path
) -> None:
    spool.append(Event("agent.tool_completed", bounded({"output": "x" * 100_000}, blobs=blobs)))
    await asyncio.wait_for(spool.wait_until_empty(), 30)

    data = platform.events[0]["event_data"]
    assert platform.blobs[data["output_blob"]] == b"x" * 100_000
    assert (data["output_size"], data["output_truncated"], len(data["output"])) == (100_000, True, 16_384)
    assert (list((root / "blobs").iterdir()), blobs.size) == ([], 0)


async def test_a_blob_that_the_disk_refused_is_put_from_memory(root: Path, platform: Platform) -> None:
    (root / "blobs").write_text("in the way")
    blobs = Blobs(root / "blobs")
    spool = Spool(root / "spool")
    spool.append(Event("agent.tool_completed", bounded({"output": "x" * 100_000}, blobs=blobs)))
    assert not blobs.settle()
    task = asyncio.create_task(delivery.deliver(spool, api_of(platform), blobs=blobs))
    await asyncio.wait_for(spool.wait_until_empty(), 30)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    spool.close()

    assert list(platform.blobs.values()) == [b"x" * 100_000]
    assert blobs.settle()


async def test_the_first_event_goes_at_once_and_the_next_ones_together(
    root: Path, platform: Platform, blobs: Blobs
) -> None:
    spool = Spool(root / "spool")
    # Long enough for twenty events on any machine.
    task = asyncio.create_task(delivery.deliver(spool, api_of(platform), blobs=blobs, flush_seconds=3))
    spool.append(Event("agent.message", {"text": "first"}))
    await platform.wait_for(lambda: len(platform.events) == 1)
    for number in range(20):
        spool.append(Event("agent.message", {"text": str(number)}))
        # The sender may run after each of them.
        await asyncio.sleep(0)
    await asyncio.wait_for(spool.wait_until_empty(), 30)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    spool.close()

    assert platform.batches == [1, 20]


async def test_as_many_events_as_fit_into_a_batch_wait_for_no_more(
    root: Path, platform: Platform, blobs: Blobs
) -> None:
    spool = Spool(root / "spool")
    # With this interval, nothing is sent because of time alone.
    task = asyncio.create_task(delivery.deliver(spool, api_of(platform), blobs=blobs, flush_seconds=3600))
    spool.append(Event("agent.message", {"text": "first"}))
    await platform.wait_for(lambda: len(platform.events) == 1)
    for number in range(delivery.MAX_BATCH_EVENTS):
        spool.append(Event("agent.message", {"text": str(number)}))
    await asyncio.wait_for(spool.wait_until_empty(), 30)
    for _ in range(3):
        spool.append(Event("agent.message", {"text": "x" * (delivery.MAX_BATCH_BYTES // 2)}))
    await platform.wait_for(lambda: len(platform.events) >= 103)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    spool.close()

    assert platform.batches[:2] == [1, 100]


@pytest.mark.parametrize("status", [401, 409])
async def test_delivery_ends_when_another_attempt_took_over(root: Path, platform: Platform, status: int) -> None:
    platform.batch_status = status
    spool = Spool(root / "spool")
    spool.append(Event("agent.message", {"text": "a"}))

    with pytest.raises(Superseded, match=str(status)):
        await asyncio.wait_for(delivery.deliver(spool, api_of(platform), blobs=Blobs(root / "blobs")), 30)
    spool.close()


@pytest.mark.parametrize("status", [429, 503])
async def test_a_busy_server_is_left_alone_for_as_long_as_it_asks(
    spool: Spool, platform: Platform, status: int
) -> None:
    clock = asyncio.get_running_loop().time
    platform.batch_status, platform.retry_after = status, "2"
    spool.append(Event("agent.message", {"text": "a"}))
    await platform.wait_for(lambda: platform.refused == 1)
    started = clock()
    platform.batch_status = None
    await asyncio.wait_for(spool.wait_until_empty(), 30)

    assert (platform.refused, texts(platform)) == (1, ["a"])
    # Without Retry-After it would have retried at once.
    assert clock() - started >= 2 > 5 * delivery.FIRST_WAIT_SECONDS


async def test_heartbeats_go_on_through_an_outage(platform: Platform) -> None:
    beats = 0

    async def status() -> dict[str, int]:
        nonlocal beats
        beats += 1
        return {"beat": beats}

    await platform.stop()
    task = asyncio.create_task(delivery.beat(api_of(platform), status, every=0.01))
    await platform.start()
    await platform.wait_for(lambda: len(platform.heartbeats) >= 2)
    task.cancel()

    first = platform.heartbeats[0]
    assert (first["event_type"], first["source"]) == ("agent.heartbeat", "worker")
    assert "seq" not in first


async def test_a_heartbeat_with_a_dead_token_ends_the_worker(platform: Platform) -> None:
    async def status() -> dict[str, int]:
        return {}

    with pytest.raises(Superseded):
        await asyncio.wait_for(delivery.beat(api_of(platform, "sbx_old"), status, every=0.01), 30)
