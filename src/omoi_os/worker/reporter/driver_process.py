"""The reporter's end of the agent child: starts it, sends orders, reads what it says within bounds."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Any

from omoi_os.worker.paths import Places
from omoi_os.worker.processes import kill_marked, kill_tree
from omoi_os.worker.reporter.usage import Agent
from omoi_os.worker.startup.driver_start import MARK_NAME, Launched

MAX_LINE_BYTES = 64 * 1024 * 1024
CHUNK_BYTES = 256 * 1024
STDERR_BYTES = 16 * 1024
ENDING_SECONDS = 10.0

#: What the agent may know of the worker's environment. Its token is valid only at its own gateway socket.
PASSED_ON = (
    *("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL"),
    *("SANDBOX_ID", "TASK_ID", "USER_ID", "PROJECT_ID", "GITHUB_REPO_OWNER", "GITHUB_REPO_NAME", "BRANCH_NAME"),
    *("CALLBACK_URL", "MESSAGE_POLL_URL", "TASK_DESCRIPTION", "TASK_DATA_BASE64", "MAX_TURNS", "MAX_BUDGET_USD"),
    *("EXECUTION_MODE", "SPEC_ID", "SPEC_PHASE", "CLAUDE_CODE_MAX_RETRIES"),
)

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NotJson(Exception):
    """A line from the child that cannot be read; the next one may be fine."""


def agent_environ(environ: Mapping[str, str], places: Places, *, mark: str) -> dict[str, str]:
    """The child's whole environment; `mark` is how its descendants are found."""
    cache = places.home / ".cache"
    return {name: environ[name] for name in PASSED_ON if name in environ} | {
        "HOME": str(places.home),
        "CLAUDE_CONFIG_DIR": str(places.agent_config),
        "CLAUDE_CODE_TMPDIR": str(cache / "claude"),
        "XDG_RUNTIME_DIR": str(cache / "run"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        # The SDK brings its CLI along: to ask that one for its version costs a start of it.
        "CLAUDE_AGENT_SDK_SKIP_VERSION_CHECK": "1",
        # Nor is it looked for which program uses it: that costs a search through all installed packages.
        "CLAUDE_AGENT_SDK_CLIENT_APP": "",
        # The CLI refuses some modes to root unless it is told that a sandbox holds it.
        "IS_SANDBOX": "1",
        # A git command of the agent that needs a password must fail, not wait for one.
        "GIT_TERMINAL_PROMPT": "0",
        MARK_NAME: mark,
    }


class Process:
    """A process that this one started."""

    def __init__(self, pid: int) -> None:
        loop = asyncio.get_running_loop()
        self.pid = pid
        self.returncode: int | None = None
        self._ended = loop.create_future()
        self._handle = os.pidfd_open(pid)
        loop.add_reader(self._handle, self._collect)

    def _collect(self) -> None:
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)
        self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self._ended.set_result(None)

    async def wait(self) -> int:
        """Its exit code, negative for a signal, once it has ended."""
        await asyncio.shield(self._ended)
        assert self.returncode is not None  # noqa: S101
        return self.returncode


class AgentChild:
    """One agent child. It is hostile: what it says is data, and it may die at any moment."""

    def __init__(self, process: Process, streams: Streams, *, stderr: asyncio.StreamReader, mark: str) -> None:
        self._process = process
        self._mark = mark
        self._errors = stderr
        self._reader, self._writer = streams
        self._pending = bytearray()
        self._searched = 0
        self._skipping = False
        self._stderr = bytearray()
        self._reading = asyncio.create_task(self._read_stderr())

    @classmethod
    async def adopt(cls, launched: Launched) -> AgentChild:
        """Take over a child that was launched, once."""
        streams = await asyncio.open_connection(sock=socket.socket(fileno=launched.channel))
        loop = asyncio.get_running_loop()
        stderr = asyncio.StreamReader()
        pipe = os.fdopen(launched.stderr, "rb", buffering=0)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stderr), pipe)
        return cls(Process(launched.pid), streams, stderr=stderr, mark=launched.mark)

    @property
    def agent(self) -> Agent:
        """How its processes are found."""
        return Agent(self._process.pid, self._mark)

    @property
    def stderr(self) -> str:
        """The end of what it and the CLI printed as errors."""
        return self._stderr.decode(errors="replace").strip()

    async def _read_stderr(self) -> None:
        while chunk := await self._errors.read(CHUNK_BYTES):
            self._stderr += chunk
            del self._stderr[:-STDERR_BYTES]

    async def send(self, order: Mapping[str, Any]) -> None:
        """Give an order; a dead child is found out by `messages` and `wait`."""
        with contextlib.suppress(OSError):
            self._writer.write(json.dumps(order).encode() + b"\n")
            await self._writer.drain()

    async def start(self, conversation: Mapping[str, Any], environ: Mapping[str, str], places: Places) -> None:
        """Let it work; its environment comes with the order, so that it can wait for one without knowing any task."""
        await self.send({**conversation, "environ": agent_environ(environ, places, mark=self._mark)})

    async def messages(self) -> AsyncIterator[dict[str, Any] | NotJson]:
        """What it says, line by line, until it hangs up; an unreadable line is given as `NotJson`."""
        while (message := await self._receive()) is not None:
            yield message

    async def _receive(self) -> dict[str, Any] | NotJson | None:
        while True:
            end = self._pending.find(b"\n", self._searched)
            if end >= 0:
                line = bytes(self._pending[:end])
                del self._pending[: end + 1]
                self._searched = 0
                if not self._skipping:
                    return _parse(line)
                self._skipping = False
                continue
            if self._skipping or len(self._pending) > MAX_LINE_BYTES:
                told, self._skipping = self._skipping, True
                self._pending.clear()
                if not told:
                    return NotJson(f"The agent sent a line of more than {MAX_LINE_BYTES} bytes.")
            self._searched = len(self._pending)
            chunk = await self._read_chunk()
            if not chunk:
                return None
            self._pending += chunk

    async def _read_chunk(self) -> bytes:
        try:
            return await self._reader.read(CHUNK_BYTES)
        except OSError:
            return b""

    async def wait(self, *, timeout: float = ENDING_SECONDS) -> int | None:
        """Its exit code (negative: the signal) once it has ended by itself; None when it had to be killed."""
        try:
            async with asyncio.timeout(timeout):
                return await self._process.wait()
        except TimeoutError:
            await self.kill()
            return None

    async def kill(self) -> None:
        """End it and everything below it."""
        if self._process.returncode is None:
            kill_tree(self._process.pid)
            await self._process.wait()
        # When it died first, what it started has lost its parent and is known only by the mark.
        kill_marked(self._mark)
        self._writer.close()
        self._reading.cancel()


def _parse(line: bytes) -> dict[str, Any] | NotJson:
    try:
        value = json.loads(line, parse_constant=lambda _: None)
        # Twice round: a number such as 1e999 is infinite only after it was read.
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError) as error:
        return NotJson(f"The agent sent a line that is not JSON: {error}")
    return value if isinstance(value, dict) else NotJson("The agent sent a line that is not a JSON object.")


def finite(value: object) -> float | None:
    """The value as a number that JSON can hold; None when it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value
