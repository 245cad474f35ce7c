"""Keeps a few programs running as child processes: starts them again when they die, stops them in order."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from omoi_os.system.children import die_with_parent


@dataclass(frozen=True, slots=True)
class Program:
    """One child: its command, what its environment has beyond ours, and how it is stopped."""

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    #: How long it may take to stop once it is told to; then it is killed.
    stop_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """The wait before a dead program starts again: doubled each time, first again after a long life."""

    first: float = 0.2
    longest: float = 5.0
    forget_after: float = 30.0


class Supervisor:
    """Runs programs until told to stop them. `say` gets one line for each death."""

    def __init__(
        self, programs: Sequence[Program], *, say: Callable[[str], None], backoff: Backoff | None = None
    ) -> None:
        self._programs = programs
        self._say = say
        self._backoff = backoff or Backoff()
        self._keepers: dict[str, asyncio.Task[None]] = {}
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._stopping = {program.name: asyncio.Event() for program in programs}
        self._farewell = signal.SIGTERM
        #: How often in a row each program died soon after its start.
        self.failures = {program.name: 0 for program in programs}

    async def start(self) -> None:
        """Start every program once; from here on they are kept running."""
        for program in self._programs:
            await self._spawn(program)
            self._keepers[program.name] = asyncio.create_task(self._keep(program), name=f"keep {program.name}")

    def pid(self, name: str) -> int | None:
        """The process id of a program that runs now."""
        process = self._processes.get(name)
        return process.pid if process and process.returncode is None else None

    async def stop(self) -> None:
        """Stop the programs one after the other, the last named first; each may use its `stop_seconds`."""
        for program in reversed(self._programs):
            self._stopping[program.name].set()
            keeper = self._keepers.pop(program.name, None)
            if keeper is None:
                continue
            self._signal(program.name, self._farewell)
            _, late = await asyncio.wait([keeper], timeout=program.stop_seconds)
            if late:
                self._say(f"{program.name} did not stop within {program.stop_seconds:g} s and is killed")
                self._signal(program.name, signal.SIGKILL)
            await keeper

    def kill(self) -> None:
        """End every program at once; a `stop` under way returns soon after."""
        self._farewell = signal.SIGKILL
        for program in self._programs:
            self._stopping[program.name].set()
            self._signal(program.name, self._farewell)

    def _signal(self, name: str, number: signal.Signals) -> None:
        process = self._processes.get(name)
        if process is not None and process.returncode is None:
            process.send_signal(number)

    async def _spawn(self, program: Program) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *program.argv,
            env={**os.environ, **program.environment},
            stdin=asyncio.subprocess.DEVNULL,
            # Ctrl-C in a terminal goes to the whole group; the order of the stop is ours to keep.
            start_new_session=True,
            # Killed like us, not told to stop: an orchestrator that is told to stop ends its sandboxes, and
            # what takes its time to stop would be in the way of the next start.
            preexec_fn=die_with_parent(signal.SIGKILL),
        )
        self._processes[program.name] = process
        return process

    async def _keep(self, program: Program) -> None:
        stopping = self._stopping[program.name]
        process = self._processes[program.name]
        while True:
            started = time.monotonic()
            code = await process.wait()
            if stopping.is_set():
                return
            lived = time.monotonic() - started
            wait = self._next_wait(program.name, lived)
            self._say(f"{program.name} ended ({describe(code)}); it starts again in {wait:g} s")
            try:
                await asyncio.wait_for(stopping.wait(), wait)
            except TimeoutError:
                process = await self._spawn(program)
            if stopping.is_set():
                # It was told to stop while it was not there to hear it.
                self._signal(program.name, self._farewell)

    def _next_wait(self, name: str, lived: float) -> float:
        if lived >= self._backoff.forget_after:
            self.failures[name] = 0
        self.failures[name] += 1
        doublings = min(self.failures[name] - 1, 32)
        return min(self._backoff.longest, self._backoff.first * 2.0**doublings)


def describe(code: int) -> str:
    """How a process ended, in words."""
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"
