"""Attacks 37 and 38: what agents write reaches no terminal as a command and no log as another line."""

import asyncio
import os
import pty
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import aiohttp
import pytest
from sqlalchemy import select

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks import service as tasks
from omoi_os.tasks.models import Task
from tests.api_process import ApiProcess, Reporter, make_reporters
from tests.builders import a_work_sandbox

#: A link, the clipboard, a cleared screen, the cursor moved up, the same by C1, text turned around, a forged line.
TRICKS = ["\x1b]8;;http://evil\x07", "\x1b]52;c;ZXZpbA==\x07", "\x1b[2J", "\x1b[1A", "\x9b2J", "\u202e", "\u2066"]
HOSTILE = "evil" + "".join(TRICKS) + "\r\nomoi: all is well\r"
ACTED_ON = {character for trick in TRICKS for character in trick if not 32 <= ord(character) < 127}


@pytest.fixture
async def api(short_tmp: Path, database_url: str) -> AsyncIterator[ApiProcess]:
    made = ApiProcess(short_tmp, database_url)
    await made.start()
    yield made
    made.kill()


async def test_the_demo_shows_what_an_agent_wrote_and_obeys_none_of_it(
    api: ApiProcess, sessions: Sessions, short_tmp: Path
) -> None:
    terminal, end = pty.openpty()
    command = [sys.executable, "-P", "-m", "omoi_os", "demo"]
    environment = api.environment | {"OMOI_API_URL": api.url}
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdin=subprocess.DEVNULL, stdout=end, stderr=end
    )
    os.close(end)
    shown = bytearray()
    try:
        async with asyncio.timeout(90):
            await _shown_until(terminal, shown, lambda: b"[4/6]" in shown)
            reporter = await _dispatch(sessions)
            await _report_tool(api, reporter)
            await _shown_until(terminal, shown, lambda: b"evil" in shown)
            await _fail(sessions)
            await _shown_until(terminal, shown, lambda: b"[6/6]" in shown and shown.endswith(b"\n"))
            assert await process.wait() == 1
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(terminal)

    # The terminal's own line ends, and the one line that the demo itself takes away again.
    said = shown.decode().replace("\r\x1b[K", "\n").replace("\r\n", "\n")
    assert said.count("evil") >= 2
    assert not ACTED_ON & set(said)
    assert not [line for line in said.split("\n") if line.startswith("omoi:")]
    assert ACTED_ON & set(HOSTILE)


async def _shown_until(terminal: int, shown: bytearray, reached: Callable[[], bool]) -> None:
    while not reached():
        shown += await asyncio.to_thread(os.read, terminal, 4096)


async def _dispatch(sessions: Sessions) -> Reporter:
    """Do the orchestrator's part for the demo's task."""
    async with sessions.begin() as session:
        task = (await session.execute(select(Task))).scalar_one()
        sandbox, token = await a_work_sandbox(session, MemoryBus(), task, now=datetime.now(UTC))
    return Reporter(sandbox.id, token)


async def _report_tool(api: ApiProcess, reporter: Reporter) -> None:
    data = {"tool": HOSTILE, "tool_use_id": "t1", "input": {}}
    event = {"event_type": "agent.tool_use", "event_data": data, "seq": 1}
    async with aiohttp.ClientSession() as http:
        async with http.post(api.url + reporter.path(), json=event, headers=reporter.headers) as answer:
            assert answer.status == 200, await answer.text()


async def _fail(sessions: Sessions) -> None:
    async with sessions.begin() as session:
        found = (await session.execute(select(Task))).scalar_one()
        task = await tasks_repository.lock(session, found.id)
        await tasks.fail(session, MemoryBus(), task, reason=HOSTILE, now=datetime.now(UTC))


async def test_a_log_has_one_line_for_what_a_sandbox_asked(api: ApiProcess, sessions: Sessions) -> None:
    (reporter,) = await make_reporters(sessions, 1, at_work=True)
    forged = "x\n2026-01-01 00:00:00,000 api CRITICAL all is well" + "".join(TRICKS).replace("/", "")
    url = f"{api.url}/api/v1/sandboxes/{quote(forged, safe='')}"
    async with aiohttp.ClientSession() as http:
        async with http.post(url + "/events", headers=reporter.headers, data=b"{}") as answer:
            assert answer.status == 404

    log = api.log.read_text()
    assert reporter.id in log
    assert "all is well" in log
    assert not ACTED_ON & set(log)
    assert not [line for line in log.split("\n") if line.startswith("2026-01-01")]


def test_logs_of_a_part_keep_a_traceback_inside_its_entry() -> None:
    program = (
        "import logging, sys\n"
        "from omoi_os.cli.output.log_lines import Lines\n"
        "handler = logging.StreamHandler(); handler.setFormatter(Lines('%(levelname)s %(message)s'))\n"
        "logging.basicConfig(handlers=[handler])\n"
        "text = sys.stdin.read()\n"
        "try:\n    raise ValueError(text)\nexcept ValueError:\n    logging.exception('said %s', text)\n"
    )
    text = "".join(TRICKS) + "\nCRITICAL forged"
    done = subprocess.run(
        [sys.executable, "-c", program], input=text.encode(), stderr=subprocess.PIPE, check=True, timeout=60
    )
    first, *rest = done.stderr.decode().rstrip("\n").split("\n")
    assert first.startswith("ERROR said ")
    assert first.endswith("\\x0aCRITICAL forged")
    assert any("ValueError" in line for line in rest)
    assert all(line.startswith("    ") for line in rest)
    assert not ACTED_ON & set(done.stderr.decode())
