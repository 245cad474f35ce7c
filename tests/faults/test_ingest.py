"""Events while APIs and the database are killed: none lost, none doubled, order kept. `make flood` runs the long form."""

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
from tests.faults.flood import FAILPOINTS, Worker, assert_sound, keep_crashing, keep_killing

WORKERS = int(os.environ.get("FLOOD_WORKERS", "20"))
EVENTS = int(os.environ.get("FLOOD_EVENTS", "8000"))
KILLS = int(os.environ.get("FLOOD_KILLS", "3"))
CRASHES = int(os.environ.get("FLOOD_CRASHES", "1"))
SECONDS = float(os.environ.get("FLOOD_SECONDS", "150"))
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
    workers = [Worker(reporter, EVENTS // WORKERS, random.Random(dice.random())) for reporter in reporters]
    apis = [ApiProcess(data_dir, url) for _ in range(APIS)]
    over = asyncio.Event()
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(10)) as http:
            killers = [
                asyncio.create_task(keep_killing(api, random.Random(dice.random()), KILLS, over=over)) for api in apis
            ]
            crasher = asyncio.create_task(keep_crashing(data_dir, CRASHES, pause=SECONDS / 2 / (CRASHES + 14)))
            await asyncio.wait_for(asyncio.gather(*(worker.run(http, apis) for worker in workers)), SECONDS)
            crashes = await crasher
            over.set()
            deaths = [death for killer in killers for death in await killer]
    finally:
        for api in apis:
            api.kill()

    total = await asyncio.to_thread(assert_sound, url, workers)
    print(f"{total} events, {crashes} database crashes, deaths: {deaths}")
    assert total >= EVENTS
    assert set(deaths) >= set(FAILPOINTS)
