"""Events while APIs, database and Redis are killed: none lost, doubled, disordered. `make flood` is the long form."""

import asyncio
import os
import random
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from omoi_os.db import embedded
from omoi_os.db.base import make_engine, make_sessions
from omoi_os.db.migrate import upgrade
from tests.api_process import ApiProcess, make_reporters
from tests.bus.servers import redis_server
from tests.faults.flood import (
    FAILPOINTS,
    Subscriber,
    Worker,
    assert_sound,
    keep_crashing,
    keep_killing,
    keep_restarting,
    last_numbers,
)

WORKERS = int(os.environ.get("FLOOD_WORKERS", "12"))
EVENTS = int(os.environ.get("FLOOD_EVENTS", "4000"))
KILLS = int(os.environ.get("FLOOD_KILLS", "3"))
CRASHES = int(os.environ.get("FLOOD_CRASHES", "1"))
RESTARTS = int(os.environ.get("FLOOD_RESTARTS", "2"))
SECONDS = float(os.environ.get("FLOOD_SECONDS", "400"))
#: Between one crash of the database and the next.
PAUSE = float(os.environ.get("FLOOD_PAUSE", "8"))
SEED = int(os.environ.get("FLOOD_SEED", str(random.randrange(10**6))))
APIS = 2


@pytest.fixture
async def data_dir() -> AsyncIterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="omoi-flood-", dir="/tmp"))
    yield folder
    await embedded.stop(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.timeout(SECONDS + 60)
async def test_no_kill_loses_doubles_or_disorders_an_event(data_dir: Path) -> None:
    print(f"FLOOD_SEED={SEED}")
    dice = random.Random(SEED)
    url = await embedded.start(data_dir)
    await upgrade(url)
    engine = make_engine(url)
    reporters = await make_reporters(make_sessions(engine), WORKERS)
    await engine.dispose()
    workers = [Worker(reporter, random.Random(dice.random())) for reporter in reporters]
    apis = [ApiProcess(data_dir, url) for _ in range(APIS)]
    subscriber = Subscriber(apis, apis[0].environment["OMOI_ADMIN_TOKEN"])
    over = asyncio.Event()
    limit = aiohttp.ClientTimeout(10)
    try:
        async with (
            asyncio.timeout(SECONDS),
            redis_server(data_dir) as redis,
            aiohttp.ClientSession(timeout=limit) as http,
        ):
            for api in apis:
                api.environment["REDIS_URL"] = redis.url
            listening = asyncio.create_task(subscriber.run())
            async with asyncio.TaskGroup() as tasks:
                for worker in workers:
                    tasks.create_task(worker.run(http, apis, at_least=EVENTS // WORKERS, over=over))
                restarter = tasks.create_task(keep_restarting(redis, RESTARTS, pause=PAUSE / 2))
                crasher = tasks.create_task(keep_crashing(data_dir, CRASHES, pause=PAUSE))
                killers = [tasks.create_task(keep_killing(api, random.Random(dice.random()), KILLS)) for api in apis]
                await asyncio.wait([crasher, restarter, *killers], return_when=asyncio.FIRST_EXCEPTION)
                over.set()
            await subscriber.until(await asyncio.to_thread(last_numbers, url, workers))
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
    finally:
        for api in apis:
            api.kill()

    total = await asyncio.to_thread(assert_sound, url, workers)
    deaths = [killer.result() for killer in killers]
    print(
        f"{total} events, {crasher.result()} database crashes, {restarter.result()} restarts of Redis, "
        f"{subscriber.resumed} resumptions of the stream, deaths: {deaths}"
    )
    assert subscriber.faults == []
    assert set(subscriber.heard) == {worker.reporter.id for worker in workers}
    assert total >= EVENTS
    assert all(set(each) >= set(FAILPOINTS) for each in deaths)
