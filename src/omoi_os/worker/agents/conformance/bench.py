"""The bench of a conformance run: starts the driver under test, sends it orders and collects its reports."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

from omoi_os.protocol.agent import (
    AgentEvent,
    BadMessage,
    DriverOrder,
    DriverReport,
    Ready,
    ReleaseTool,
    Start,
    ToolHeld,
    TurnEnded,
)
from omoi_os.worker.agents.conformance.model import Model
from omoi_os.worker.agents.environment import agent_environ
from omoi_os.worker.agents.registry import DEFAULT, load_agent
from omoi_os.worker.command import driver_argv
from omoi_os.worker.paths import WorkerPaths
from omoi_os.worker.reporter.driver_process import DriverProcess
from omoi_os.worker.startup.driver_start import CHANNEL, launch

#: How long any single step may take. Agents are slow to start on a busy machine.
PATIENCE_SECONDS = 60.0
#: How long the bench waits to see that nothing happens.
QUIET_SECONDS = 0.5

R = TypeVar("R")


class Failed(Exception):
    """The driver does not behave as the check demands."""


class Bench:
    """One driver, its folders and everything it has reported. Use it as a context manager, once."""

    def __init__(self, model: Model, folder: Path, *, name: str = DEFAULT, argv: Sequence[str] | None = None) -> None:
        """`argv` starts another program than the registered driver."""
        self.model = model
        self.agent = load_agent(name)
        self.paths = WorkerPaths(home=folder / "home", workspace=folder / "workspace")
        #: Everything that was reported so far, in order. Tool calls are released at once unless `holds_tools` is set.
        self.reports: list[DriverReport] = []
        self.holds_tools = False
        self._argv = list(argv or driver_argv(CHANNEL, name))
        self._driver: DriverProcess | None = None
        self._collecting: asyncio.Task[None] | None = None
        self._changed = asyncio.Condition()
        self._bad: BadMessage | None = None
        self._is_closed = False

    async def __aenter__(self) -> Bench:
        """Start the driver."""
        await self._create_folders()
        await self.launch()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill the driver and everything it started."""
        await self._discard()

    @property
    def driver(self) -> DriverProcess:
        """The running driver."""
        assert self._driver  # noqa: S101
        return self._driver

    async def launch(self) -> None:
        """Start a driver, in place of the one before."""
        await self._discard()
        self.reports.clear()
        self._bad, self._is_closed = None, False
        self._driver = await DriverProcess.adopt(launch(str(self.paths.home), self._argv))
        self._collecting = asyncio.create_task(self._collect(self._driver))

    async def move(self, folder: Path) -> None:
        """Start a driver in new, empty folders, as another sandbox would."""
        self.paths = replace(self.paths, home=folder / "home", workspace=folder / "workspace")
        await self._create_folders()
        await self.launch()

    async def _create_folders(self) -> None:
        self.paths.private.mkdir(parents=True, mode=0o700)
        self.paths.workspace.mkdir(parents=True)
        git = await asyncio.create_subprocess_exec("git", "init", "--quiet", cwd=self.paths.workspace)
        demand(await git.wait() == 0, "git init failed in the workspace")

    async def _discard(self) -> None:
        if self._driver and self._collecting:
            self._collecting.cancel()
            await asyncio.gather(self._collecting, return_exceptions=True)
            await self._driver.kill()

    async def _collect(self, driver: DriverProcess) -> None:
        async for report in driver.reports():
            if isinstance(report, BadMessage):
                self._bad = report
            else:
                self.reports.append(report)
            if isinstance(report, ToolHeld) and not self.holds_tools:
                await driver.send(ReleaseTool(report.number))
            await self._notify()
        self._is_closed = True
        await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def start(self, prompt: str = "Do it.", *, resume: str | None = None) -> None:
        """Start the conversation."""
        await self.driver.send(
            Start(
                prompt,
                guidance="This is a conformance run.",
                workspace=str(self.paths.workspace),
                snapshots=str(self.paths.snapshots),
                environ=agent_environ(self.agent, self.model.variables, self.paths, mark=self.driver.mark),
                resume=resume,
                skills=self.agent.collect_skills(self.paths),
                model="conformance",
                max_turns=20,
            )
        )

    async def send(self, order: DriverOrder) -> None:
        """Send an order."""
        await self.driver.send(order)

    async def wait_for(self, kind: type[R], *, count: int = 1) -> R:
        """Wait for the report of this kind, or for that many of them, and return the last. Raises `Failed`."""
        await self.wait_until(lambda: len(self.of(kind)) >= count, what=f"{count} {kind.__name__}")
        return self.of(kind)[count - 1]

    async def wait_for_event(self, event_type: str, *, count: int = 1) -> dict[str, Any]:
        """Wait for that many events of a type, and return the data of the last. Raises `Failed`."""
        await self.wait_until(lambda: len(self.events(event_type)) >= count, what=f"{count} {event_type}")
        return self.events(event_type)[count - 1]

    async def wait_until(self, reached: Callable[[], bool], *, what: str) -> None:
        """Wait until the reports make it true. Raises `Failed` if they do not, or once they cannot any more."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS), self._changed:
                await self._changed.wait_for(lambda: reached() or self._is_closed or self._bad is not None)
        except TimeoutError:
            raise Failed(f"{what} was not reported within {PATIENCE_SECONDS:g} s; {self._seen()}") from None
        if self._bad is not None:
            raise Failed(f"an invalid report: {self._bad}")
        if not reached():
            raise Failed(f"the driver closed the channel before {what}; {self._seen()}")

    async def stays_quiet(self, kind: type[DriverReport]) -> bool:
        """Return whether no further report of this kind comes for a short while."""
        before = len(self.of(kind))
        with suppress(TimeoutError):
            async with asyncio.timeout(QUIET_SECONDS), self._changed:
                await self._changed.wait_for(lambda: len(self.of(kind)) > before)
        return len(self.of(kind)) == before

    async def lose_reporter(self) -> None:
        """Close the channel, as the death of the reporter would."""
        if self._collecting:
            self._collecting.cancel()
            await asyncio.gather(self._collecting, return_exceptions=True)
        self.driver.close_channel()

    async def wait_for_exit(self) -> int:
        """Wait for the driver to exit by itself and return its exit code. Raises `Failed`."""
        code = await self.driver.wait(timeout=PATIENCE_SECONDS)
        if code is None:
            raise Failed("the driver did not exit")
        return code

    def of(self, kind: type[R]) -> list[R]:
        """Return the reports of a kind so far."""
        return [report for report in self.reports if isinstance(report, kind)]

    def events(self, event_type: str) -> list[dict[str, Any]]:
        """Return the data of the events of a type so far."""
        return [event.event_data for event in self.of(AgentEvent) if event.event_type == event_type]

    def gate(self) -> Gate:
        """Return a command that blocks until it is opened."""
        return Gate(self.paths.home / "gate")

    def _seen(self) -> str:
        kinds = [
            report.event_type if isinstance(report, AgentEvent) else type(report).__name__
            for report in self.reports
            if not isinstance(report, Ready)
        ]
        turns = [repr(turn) for turn in self.of(TurnEnded)]
        return f"seen: {', '.join([*kinds, *turns]) or 'nothing'}; stderr: {self.driver.stderr[-500:] or 'empty'}"


class Gate:
    """A named pipe, and a command that reads it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        os.mkfifo(path)

    @property
    def command(self) -> str:
        """A shell command that blocks until `open`."""
        return f"cat {self._path}"

    @property
    def is_read(self) -> bool:
        """Whether a command blocks on it now."""
        try:
            os.close(os.open(self._path, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    async def open(self) -> None:
        """Let the command end."""
        await asyncio.to_thread(self._path.write_text, "open\n")


Check: TypeAlias = Callable[[Bench], Awaitable[None]]


def demand(condition: object, sentence: str) -> None:
    """Raise `Failed` with this sentence if the condition does not hold."""
    if not condition:
        raise Failed(sentence)
