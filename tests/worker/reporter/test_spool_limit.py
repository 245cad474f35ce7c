"""Unsent events are bounded on disk, and none is dropped: the agent waits."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from omoi_os.protocol.events import Event
from omoi_os.worker.command import worker_argv
from omoi_os.worker.reporter.blobs import Blobs
from omoi_os.worker.reporter.spool import Spool
from omoi_os.worker.reporter.spool_limit import SpoolLimit
from tests.worker.conftest import Worker
from tests.worker.platform import Platform, Step
from tests.worker.reporter.test_spool import full_disk

MAX_BYTES = 100_000
#: Enough output to reach a small limit soon, with a known total.
CALLS = 16
WORK: list[Step] = [
    *(
        {"tool": "Bash", "input": {"command": f"seq {number + 10}000 {number + 10}999"}}
        for number in range(1, CALLS + 1)
    ),
    {"text": "done"},
]
#: Runs a command in which a folder is a small separate disk, as any user.
SMALL_DISK = 'mkdir -p "$0" && mount -t tmpfs -o size=128k tmpfs "$0" && exec "$@"'
EVENT = Event("agent.message", {"text": "x" * 1000})


@pytest.fixture
async def spool(root: Path) -> AsyncIterator[Spool]:
    spool = Spool(root / "spool")
    yield spool
    spool.close()


@pytest.fixture
def blobs(root: Path) -> Blobs:
    return Blobs(root / "blobs")


@pytest.fixture
def limit(spool: Spool, blobs: Blobs) -> SpoolLimit:
    return SpoolLimit(spool, blobs, max_bytes=MAX_BYTES)


async def is_waiting(task: "asyncio.Task[None]") -> bool:
    done, _ = await asyncio.wait({task}, timeout=0.3)
    return not done


async def test_a_full_spool_is_waited_for_until_all_of_it_is_acknowledged(spool: Spool, limit: SpoolLimit) -> None:
    while spool.size < MAX_BYTES:
        await asyncio.wait_for(limit.wait(), 5)
        spool.append(EVENT)
    waiting = asyncio.create_task(limit.wait())
    assert await is_waiting(waiting)
    assert limit.is_full

    spool.acknowledge(spool.last - 1)
    assert await is_waiting(waiting)
    spool.acknowledge(spool.last)
    await asyncio.wait_for(waiting, 5)

    assert (limit.is_full, spool.size < 200) == (False, True)


async def test_what_was_acknowledged_is_forgotten_before_the_bound_is_reached(spool: Spool, limit: SpoolLimit) -> None:
    for _ in range(1000):
        await limit.wait()
        spool.append(EVENT)
        spool.acknowledge(spool.last)
        assert spool.size < MAX_BYTES / 10

    assert spool.last == 1000


async def test_large_values_count(spool: Spool, blobs: Blobs, limit: SpoolLimit) -> None:
    digest = blobs.keep(b"x" * MAX_BYTES) or ""
    waiting = asyncio.create_task(limit.wait())
    assert await is_waiting(waiting)

    blobs.forget(digest)
    spool.append(EVENT)
    await asyncio.wait_for(waiting, 5)


async def test_a_full_disk_is_waited_for_and_used_when_it_has_room_again(
    spool: Spool, limit: SpoolLimit, root: Path
) -> None:
    spool.append(EVENT)
    with full_disk(root / "spool", room=10):
        spool.append(EVENT)
        waiting = asyncio.create_task(limit.wait())
        assert await is_waiting(waiting)
    await asyncio.wait_for(waiting, 5)

    assert (spool.waiting, spool.size) == (2, (root / "spool").stat().st_size)
    assert spool.size > 2000


async def test_a_full_disk_costs_time_alone_while_everything_is_acknowledged(
    spool: Spool, limit: SpoolLimit, root: Path
) -> None:
    spool.append(EVENT)
    spool.acknowledge(1)
    with full_disk(root / "spool", room=10):
        for number in range(2, 12):
            spool.append(EVENT)
            spool.acknowledge(number)
            await asyncio.wait_for(limit.wait(), 5)

    assert spool.last == 11


async def until_full(platform: Platform) -> None:
    await platform.wait_for(lambda: bool(platform.heartbeats) and platform.heartbeats[-1]["event_data"]["spool_full"])


async def wait_for_heartbeats(platform: Platform, number: int) -> None:
    beats = len(platform.heartbeats)
    await platform.wait_for(lambda: len(platform.heartbeats) >= beats + number)


async def assert_agent_waits(platform: Platform) -> None:
    """Whether the worker sends heartbeats while the agent makes no further model call.

    A call that was under way when the spool became full still arrives, so wait until the calls stop.
    """
    calls = -1
    while platform.model_calls != calls:
        calls = platform.model_calls
        await wait_for_heartbeats(platform, 5)
    assert calls < CALLS
    assert platform.heartbeats[-1]["event_data"]["spool_full"]


def assert_all_told(platform: Platform) -> None:
    assert [event["seq"] for event in platform.events] == list(range(1, len(platform.events) + 1))
    completed = [event["event_data"] for event in platform.of_type("agent.tool_completed")]
    numbers = [int(data["output"].split()[0]) for data in completed]
    assert numbers == [(number + 10) * 1000 for number in range(1, CALLS + 1)]
    assert platform.events[-1]["event_type"] == "agent.completed"


async def test_an_agent_waits_while_too_much_waits_to_be_sent_and_goes_on_when_it_was_sent(
    worker: Worker, platform: Platform
) -> None:
    platform.steps = WORK
    platform.batch_status = 503
    await worker.start(acceptance=(), max_turns=100, spool_bytes=60_000, heartbeat_seconds=0.1)
    await until_full(platform)
    await assert_agent_waits(platform)
    waiting = worker.paths.spool.stat().st_size
    # The limit, and the event that reached it.
    assert 60_000 <= waiting < 60_000 + 30_000

    platform.batch_status = None
    assert (await worker.end())[0] == 0

    assert_all_told(platform)


async def test_a_full_spool_volume_stops_the_agent_and_no_more(worker: Worker, platform: Platform) -> None:
    platform.steps = WORK
    platform.batch_status = 503
    argv = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SMALL_DISK, str(worker.paths.private)]
    environ = worker.environ(acceptance=(), max_turns=100, heartbeat_seconds=0.1)
    await worker.launch([*argv, *worker_argv()], environ)
    await until_full(platform)
    await assert_agent_waits(platform)

    platform.batch_status = None
    assert (await worker.end()) == (0, "")

    assert_all_told(platform)


async def test_sigterm_ends_a_worker_whose_agent_waits_for_room(worker: Worker, platform: Platform) -> None:
    platform.steps = WORK
    platform.batch_status = 503
    process = await worker.start(acceptance=(), max_turns=100, spool_bytes=30_000, heartbeat_seconds=0.1)
    await until_full(platform)
    process.terminate()
    platform.batch_status = None

    assert (await worker.end())[0] == 143
    assert platform.events[-1]["event_type"] == "agent.shutdown"
