"""Supervises child processes: restarts them when they end, and stops them in order."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from omoi_os.system.children import die_with_parent


@dataclass(frozen=True, slots=True)
class Program:
    """One child process: its command, additions to its environment, and its stop timeout."""

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    #: How long it may take to stop after SIGTERM before it is killed.
    stop_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delay before a restart: doubles with each failure, and starts over after `forget_after` seconds of running."""

    first: float = 0.2
    longest: float = 5.0
    forget_after: float = 30.0


class Supervisor:
    """Keeps programs running until `stop`. `report` receives one line when a program ends unexpectedly."""

    def __init__(
        self, programs: Sequence[Program], *, report: Callable[[str], None], backoff: Backoff | None = None
    ) -> None:
        self._programs = programs
        self._report = report
        self._backoff = backoff or Backoff()
        self._keepers: dict[str, asyncio.Task[None]] = {}
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._stopping = {program.name: asyncio.Event() for program in programs}
        self._stop_signal = signal.SIGTERM
        #: Number of consecutive failures of each program.
        self.failures = {program.name: 0 for program in programs}

    async def start(self) -> None:
        """Start every program, and keep it running from then on."""
        for program in self._programs:
            await self._spawn(program)
            self._keepers[program.name] = asyncio.create_task(self._keep(program), name=f"keep {program.name}")

    def pid(self, name: str) -> int | None:
        """Return the process id of a running program, or None."""
        process = self._processes.get(name)
        return process.pid if process and process.returncode is None else None

    async def stop(self) -> None:
        """Stop the programs one after the other, the last one first. Each has its `stop_seconds`."""
        for program in reversed(self._programs):
            self._stopping[program.name].set()
            keeper = self._keepers.pop(program.name, None)
            if keeper is None:
                continue
            self._signal(program.name, self._stop_signal)
            _, late = await asyncio.wait([keeper], timeout=program.stop_seconds)
            if late:
                self._report(f"The {program.name} did not stop within {program.stop_seconds:g} s and was killed")
                self._signal(program.name, signal.SIGKILL)
            await keeper

    def kill(self) -> None:
        """Kill every program at once. A running `stop` returns soon after."""
        self._stop_signal = signal.SIGKILL
        for program in self._programs:
            self._stopping[program.name].set()
            self._signal(program.name, self._stop_signal)

    def _signal(self, name: str, number: signal.Signals) -> None:
        process = self._processes.get(name)
        if process is not None and process.returncode is None:
            process.send_signal(number)

    async def _spawn(self, program: Program) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *program.argv,
            env={**os.environ, **program.environment},
            stdin=asyncio.subprocess.DEVNULL,
            # Ctrl-C signals the whole process group, but the programs must stop in order.
            start_new_session=True,
            # SIGKILL, not SIGTERM: an orchestrator stops its sandboxes on SIGTERM, and a program that is slow to
            # stop would block the next start.
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
            self._report(f"The {program.name} ended unexpectedly ({describe(code)}); restarting in {wait:g} s")
            try:
                await asyncio.wait_for(stopping.wait(), wait)
            except TimeoutError:
                process = await self._spawn(program)
            if stopping.is_set():
                # The stop was requested while the program was being restarted.
                self._signal(program.name, self._stop_signal)

    def _next_wait(self, name: str, lived: float) -> float:
        if lived >= self._backoff.forget_after:
            self.failures[name] = 0
        self.failures[name] += 1
        doublings = min(self.failures[name] - 1, 32)
        return min(self._backoff.longest, self._backoff.first * 2.0**doublings)


def describe(code: int) -> str:
    """Describe how a process ended."""
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"
