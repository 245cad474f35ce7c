"""The resources in a heartbeat, measured on real processes."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from omoi_os.worker.processes import tree
from omoi_os.worker.reporter.usage import AgentProcesses, UsageMeter
from omoi_os.worker.startup.driver_start import MARK_NAME

MARK = "0123456789abcdef"

#: A driver, its CLI, and the processes of tools, which a line on stdin starts and which print their process id.
AGENT = """
import subprocess, sys
subprocess.run([sys.executable, "-I", "-S", "-c", sys.argv[1]])
"""
CLI = """
import subprocess, sys
print(0, flush=True)
for line in sys.stdin:
    if line == "daemon\\n":
        count = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
        subprocess.run(["sh", "-c", f"setsid sh -c '{count}; echo $$; exec sleep 60' &"])
    elif line == "spinner\\n":
        subprocess.run(["sh", "-c", "setsid sh -c 'echo $$; while :; do :; done' &"])
    else:
        subprocess.run(["sh", "-c", "echo $$; exec sleep 60"])
        print(0, flush=True)
"""


class Tools:
    """Starts processes as tools do, below a stand-in for the agent driver."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.agent = AgentProcesses(process.pid, MARK)

    async def start(self, kind: str) -> int:
        """Start a process and return its id."""
        assert self._process.stdin
        self._process.stdin.write(f"{kind}\n".encode())
        return await self.said()

    async def said(self) -> int:
        assert self._process.stdout
        async with asyncio.timeout(30):
            return int(await self._process.stdout.readline())


@pytest.fixture
async def tools() -> AsyncIterator[Tools]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", AGENT, CLI),
        env={"PATH": "/usr/bin:/bin", MARK_NAME: MARK},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    tools = Tools(process)
    await tools.said()
    yield tools
    assert process.stdin
    process.stdin.close()
    await process.wait()


async def until(happened: Callable[[], bool]) -> None:
    """Poll until it happened: nothing notifies us about other processes."""
    async with asyncio.timeout(30):
        while not happened():  # noqa: ASYNC110  processes of the kernel set no event
            await asyncio.sleep(0.01)


async def asleep(pid: int) -> None:
    """Wait until a process has become `sleep` and waits."""
    await until(lambda: bool(re.match(r"\d+ \(sleep\) S ", Path(f"/proc/{pid}/stat").read_text())))


async def test_a_process_that_a_tool_waits_for_is_work(tools: Tools, root: Path) -> None:
    usage = UsageMeter([root])
    idle = await usage.measure(tools.agent, in_tool=False)
    assert (idle["children"], idle["busy"]) == (0, False)

    started = await tools.start("command")
    working = await usage.measure(tools.agent, in_tool=True)
    assert (working["children"], working["busy"]) == (1, True)
    assert working["pids"] > idle["pids"]
    assert working["rss_mb"] > 0
    assert working["cpu_s"] >= idle["cpu_s"] > 0

    os.kill(started, signal.SIGKILL)
    await tools.said()
    ended = await usage.measure(tools.agent, in_tool=False)
    assert (ended["children"], ended["busy"]) == (0, False)


async def test_what_a_tool_left_behind_is_work_only_while_it_computes(tools: Tools, root: Path) -> None:
    usage = UsageMeter([root])
    daemon = await tools.start("daemon")
    await asleep(daemon)
    try:
        computed = await usage.measure(tools.agent, in_tool=False)
        waits = await usage.measure(tools.agent, in_tool=False)
        assert (computed["children"], computed["busy"]) == (1, True)
        assert (waits["children"], waits["busy"]) == (1, False)
    finally:
        os.kill(daemon, signal.SIGKILL)


async def test_the_end_of_one_process_does_not_hide_the_work_of_another(tools: Tools, root: Path) -> None:
    usage = UsageMeter([root])
    worked_long, works = await tools.start("daemon"), await tools.start("spinner")
    try:
        await usage.measure(tools.agent, in_tool=False)
        so_far = tree(works)[works].cpu_seconds
        os.kill(worked_long, signal.SIGKILL)
        await until(lambda: tree(works)[works].cpu_seconds > so_far and has_ended(worked_long))
        assert (await usage.measure(tools.agent, in_tool=False))["busy"]
    finally:
        os.kill(works, signal.SIGKILL)


def has_ended(pid: int) -> bool:
    found = tree(pid).get(pid)
    return found is None or found.dead


async def test_the_disk_is_looked_at_every_other_time(root: Path) -> None:
    usage = UsageMeter([root])
    (root / "deep").mkdir()
    (root / "deep" / "file").write_bytes(b"x" * (3 << 20))
    (root / "elsewhere").symlink_to("/usr")
    with (root / "sparse").open("wb") as sparse:
        sparse.truncate(1 << 40)
    first = await usage.measure(None, in_tool=False)
    (root / "more").write_bytes(b"x" * (5 << 20))
    second = await usage.measure(None, in_tool=False)
    third = await usage.measure(None, in_tool=False)

    assert [beat["disk_mb"] for beat in (first, second, third)] == [3, 3, 8]
    assert third["disk_complete"] is True
