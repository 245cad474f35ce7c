"""The supervisor, with small real programs as its children."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from omoi_os.cli.local.processes import Backoff, Program, Supervisor
from omoi_os.db.postmaster import process_end

QUICK = Backoff(first=0.01, longest=0.04, forget_after=30)


class Reports:
    """A pipe with a name: children write lines into it, the test waits for them."""

    def __init__(self, path: Path, lines: asyncio.StreamReader) -> None:
        self.path = path
        self._lines = lines

    async def next(self) -> str:
        return (await asyncio.wait_for(self._lines.readline(), 20)).decode().strip()


@pytest.fixture
async def reports(tmp_path: Path) -> AsyncIterator[Reports]:
    path = tmp_path / "reports"
    os.mkfifo(path)
    # Opened for writing too, so that it stays open between two children.
    pipe = os.fdopen(os.open(path, os.O_RDWR | os.O_NONBLOCK), "rb", buffering=0)
    lines = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), pipe)
    yield Reports(path, lines)
    transport.close()
    await asyncio.sleep(0)


class Lines(asyncio.Queue[str]):
    """The lines that the supervisor prints."""

    async def next(self) -> str:
        return await asyncio.wait_for(self.get(), 20)


def program(name: str, code: str, reports: Reports, *, stop_seconds: float = 10.0) -> Program:
    argv = [sys.executable, "-I", "-S", "-c", PREAMBLE + code]
    return Program(name, argv, {"REPORTS": str(reports.path), "NAME": name}, stop_seconds=stop_seconds)


PREAMBLE = """
import os, signal, sys
def report(what):
    with open(os.environ["REPORTS"], "w") as pipe:
        pipe.write(f"{os.environ['NAME']} {what}\\n")
def stop(*_):
    report("stopped")
    sys.exit()
def work():
    report(os.getpid())
    while True:
        signal.pause()
"""
#: Reports its start, and its end after SIGTERM.
POLITE = "signal.signal(signal.SIGTERM, stop); work()"
#: Reports its start and does not listen.
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN); work()"


async def test_a_killed_program_is_restarted_and_that_is_printed(reports: Reports) -> None:
    said = Lines()
    supervisor = Supervisor([program("api", POLITE, reports)], report=said.put_nowait, backoff=QUICK)
    await supervisor.start()
    first = int((await reports.next()).split()[1])

    os.kill(first, signal.SIGKILL)
    second = int((await reports.next()).split()[1])

    assert second != first
    assert supervisor.pid("api") == second
    assert await said.next() == "The api ended unexpectedly (killed by signal 9); restarting in 0.01 s"
    await supervisor.stop()
    assert supervisor.pid("api") is None


async def test_programs_stop_one_after_the_other_the_last_named_first(reports: Reports) -> None:
    names = ["api", "gateway", "orchestrator"]
    supervisor = Supervisor([program(name, POLITE, reports) for name in names], report=Lines().put_nowait)
    await supervisor.start()
    for _ in names:
        await reports.next()

    await supervisor.stop()

    assert [await reports.next() for _ in names] == ["orchestrator stopped", "gateway stopped", "api stopped"]


async def test_a_program_that_does_not_stop_in_time_is_killed(reports: Reports) -> None:
    said = Lines()
    supervisor = Supervisor([program("api", DEAF, reports, stop_seconds=0.05)], report=said.put_nowait)
    await supervisor.start()
    pid = int((await reports.next()).split()[1])

    await supervisor.stop()

    assert await said.next() == "The api did not stop within 0.05 s and was killed"
    await asyncio.wait_for(process_end(pid), 10)


async def test_a_kill_ends_a_stop_that_is_under_way(reports: Reports) -> None:
    programs = [program("api", DEAF, reports, stop_seconds=600), program("gateway", DEAF, reports, stop_seconds=600)]
    supervisor = Supervisor(programs, report=Lines().put_nowait)
    await supervisor.start()
    for _ in programs:
        await reports.next()
    stop = asyncio.create_task(supervisor.stop())
    await asyncio.sleep(0)

    supervisor.kill()

    await asyncio.wait_for(stop, 10)


async def test_the_wait_doubles_with_each_quick_death_up_to_its_longest(reports: Reports) -> None:
    said = Lines()
    supervisor = Supervisor([program("api", "sys.exit(3)", reports)], report=said.put_nowait, backoff=QUICK)
    await supervisor.start()

    lines = [await said.next() for _ in range(4)]
    await supervisor.stop()

    assert [line.rsplit(" in ")[1] for line in lines] == ["0.01 s", "0.02 s", "0.04 s", "0.04 s"]
    assert lines[0].startswith("The api ended unexpectedly (exit code 3)")
    assert supervisor.failures["api"] >= 4


async def test_a_long_life_makes_the_wait_short_again(reports: Reports) -> None:
    said = Lines()
    patient = Backoff(first=0.01, longest=0.04, forget_after=0)
    supervisor = Supervisor([program("api", "sys.exit(3)", reports)], report=said.put_nowait, backoff=patient)
    await supervisor.start()

    lines = [await said.next() for _ in range(3)]
    await supervisor.stop()

    assert {line.rsplit(" in ")[1] for line in lines} == {"0.01 s"}


async def test_a_stop_while_a_program_waits_for_its_restart_starts_nothing(reports: Reports) -> None:
    said = Lines()
    slow = Backoff(first=600, longest=600, forget_after=30)
    supervisor = Supervisor([program("api", "sys.exit(3)", reports)], report=said.put_nowait, backoff=slow)
    await supervisor.start()
    await said.next()

    await asyncio.wait_for(supervisor.stop(), 10)

    assert supervisor.pid("api") is None


async def test_programs_are_out_of_reach_of_the_terminals_ctrl_c(reports: Reports) -> None:
    supervisor = Supervisor([program("api", POLITE, reports)], report=Lines().put_nowait)
    await supervisor.start()
    pid = int((await reports.next()).split()[1])

    assert os.getpgid(pid) != os.getpgid(0)
    await supervisor.stop()


SUPERVISING = """
import asyncio, os, sys
from omoi_os.cli.local.processes import Program, Supervisor
async def main():
    await Supervisor([Program("api", [sys.executable, "-c", sys.argv[1]], {"NAME": "api"})], report=print).start()
    await asyncio.Event().wait()
asyncio.run(main())
"""


async def test_programs_end_when_their_supervisor_is_killed(reports: Reports) -> None:
    supervising = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SUPERVISING, PREAMBLE + POLITE, env={**os.environ, "REPORTS": str(reports.path)}
    )
    pid = int((await reports.next()).split()[1])

    supervising.kill()
    await supervising.wait()

    await asyncio.wait_for(process_end(pid), 10)
