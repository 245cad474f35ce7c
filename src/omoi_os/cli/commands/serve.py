"""`omoi serve`: run the whole platform on one machine, each component in its own process."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import httpx

from omoi_os.accounts.admin_token import ensure_admin_token
from omoi_os.cli.commands import sign_in
from omoi_os.cli.local import data_folder as folder
from omoi_os.cli.local import port
from omoi_os.cli.local.database import migrate
from omoi_os.cli.local.processes import Program, Supervisor
from omoi_os.config import Settings, load_settings
from omoi_os.db import embedded
from omoi_os.errors import SetupError
from omoi_os.orchestrator import own_health as orchestrator_health
from omoi_os.printable import printable
from omoi_os.providers.registry import make_provider
from omoi_os.scripted_model.scripts import Library

_HOW_TO_SIGN_IN = "run `omoi sign-in` for a link"

#: How long the orchestrator may take to salvage and stop its sandboxes.
SALVAGE_SECONDS = 60.0
#: How long the API and the gateway may take to finish running calls.
DRAIN_SECONDS = 15.0
READY_SECONDS = 60.0
#: Number of consecutive failures of a component after which the start is given up.
GIVE_UP_AFTER = 5
#: Interval between two checks of the orchestrator's health.
HEALTH_SECONDS = 10.0


def run(parameters: dict[str, Any]) -> int:
    """Run until SIGINT or SIGTERM, then stop everything in order. A second signal kills everything at once."""
    settings = load_settings(**parameters)
    if settings.uses_scripted_model:
        Library(settings.scripts_dir)
    folder.prepare(settings.data_dir)
    if settings.orchestrator_enabled:
        make_provider(settings)
    with folder.Lock(settings.data_dir) as lock:
        return asyncio.run(_serve(settings, after_kill=lock.unclean))


async def _serve(settings: Settings, *, after_kill: bool) -> int:
    signals = _Signals()
    await port.check_free(settings, patiently=after_kill)
    ensure_admin_token(settings)
    database = asyncio.Lock()
    own_database = settings.database_url is None
    url = settings.database_url or await embedded.start(settings.data_dir)
    try:
        await migrate(url)
        supervisor = Supervisor(_programs(settings, url), report=_print)
        signals.on_second = supervisor.kill
        watch = asyncio.create_task(_keep_database(settings, database)) if own_database else None
        try:
            await _run_until_stopped(supervisor, settings.model_copy(update={"database_url": url}), signals)
        finally:
            await supervisor.stop()
            if watch is not None:
                async with database:
                    watch.cancel()
    finally:
        if own_database:
            await embedded.stop(settings.data_dir)
    return 130 if signals.count > 1 else 0


async def _run_until_stopped(supervisor: Supervisor, settings: Settings, signals: "_Signals") -> None:
    if signals.first.is_set():
        return
    await supervisor.start()
    stopped = asyncio.create_task(signals.first.wait())
    health = asyncio.create_task(_watch_orchestrator(settings))
    ready = asyncio.create_task(_wait_until_ready(supervisor, settings))
    try:
        await asyncio.wait([stopped, ready], return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            ready.result()
            _print_ready(settings, await _sign_in(settings))
            await stopped
            _print("Stopping: saving work in progress first (press Ctrl-C again to stop at once)")
    finally:
        for task in (stopped, ready, health):
            task.cancel()
            with suppress(asyncio.CancelledError, SetupError):
                await task


class _Signals:
    """Counts the signals that ask the platform to stop."""

    def __init__(self) -> None:
        self.first = asyncio.Event()
        self.count = 0
        self.on_second: Callable[[], None] | None = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self._receive)

    def _receive(self) -> None:
        self.count += 1
        self.first.set()
        if self.count > 1 and self.on_second is not None:
            self.on_second()


def _programs(settings: Settings, database_url: str) -> Sequence[Program]:
    """Return the programs in start order. They stop in reverse, so the orchestrator can still use the others."""
    environment = {
        "DATABASE_URL": database_url,
        "OMOI_DATA_DIR": str(settings.data_dir),
        "OMOI_HOST": settings.host,
        "OMOI_PORT": str(settings.port),
    }
    api = Program("api", _command("api"), environment, stop_seconds=DRAIN_SECONDS)
    gateway = Program("gateway", _command("gateway"), environment, stop_seconds=DRAIN_SECONDS)
    orchestrator = Program(
        "orchestrator",
        _command("orchestrator"),
        {**environment, "OMOI_STOP_SANDBOXES": "1"},
        stop_seconds=SALVAGE_SECONDS,
    )
    return (api, gateway, orchestrator) if settings.orchestrator_enabled else (api, gateway)


def omoi() -> Sequence[str]:
    """Return the command that runs this program. `-P` prevents imports from the current folder."""
    return (sys.executable, "-P", "-m", "omoi_os")


def _command(name: str) -> Sequence[str]:
    return (*omoi(), name, "--no-migrate")


async def _wait_until_ready(supervisor: Supervisor, settings: Settings) -> None:
    """Wait until the API is ready. Raises `SetupError` when a component keeps failing or the time is over."""
    deadline = asyncio.get_running_loop().time() + READY_SECONDS
    async with httpx.AsyncClient(base_url=settings.effective_api_url, trust_env=False, timeout=5) as client:
        while True:
            with suppress(httpx.TransportError):
                if (await client.get("/ready")).is_success and all(map(supervisor.pid, supervisor.failures)):
                    return
            for name, failures in supervisor.failures.items():
                if failures >= GIVE_UP_AFTER:
                    raise SetupError(f"the {name} failed {failures} times in a row; see the log lines above")
            if asyncio.get_running_loop().time() > deadline:
                raise SetupError(f"{settings.effective_api_url}/ready did not report ready within {READY_SECONDS:g} s")
            await asyncio.sleep(0.05)


async def _keep_database(settings: Settings, lock: asyncio.Lock) -> None:
    """Restart the embedded server when it ends unexpectedly. Holds the lock meanwhile."""
    while True:
        await embedded.ended(settings.data_dir)
        async with lock:
            _print("The database ended unexpectedly and is being restarted")
            try:
                await embedded.start(settings.data_dir)
            except SetupError as error:
                _print(f"{error}; retrying in 5 s")
        if not embedded.running(settings.data_dir):
            await asyncio.sleep(5)


async def _watch_orchestrator(settings: Settings) -> None:
    """Print a line when the orchestrator's health check fails, and when it passes again."""
    reported: list[str] = []
    while settings.orchestrator_enabled:
        await asyncio.sleep(HEALTH_SECONDS)
        # A restarting orchestrator has no health file yet, and its end was printed already.
        complaints = [found for found in orchestrator_health.check(settings.data_dir) if "no orchestrator" not in found]
        if complaints and not reported:
            _print(f"{complaints[0]}; tasks may be delayed")
        elif reported and not complaints:
            _print("The orchestrator is healthy again")
        reported = complaints


async def _sign_in(settings: Settings) -> str:
    """Return a sign-in link on a terminal. Elsewhere it would stay in a log, so return how to get one."""
    if not sys.stdout.isatty():
        return _HOW_TO_SIGN_IN
    try:
        return f"{await sign_in.link(settings)} (valid once, for 24 hours)"
    except SetupError:
        return _HOW_TO_SIGN_IN


def _print_ready(settings: Settings, link: str) -> None:
    url = settings.effective_api_url
    token = "OMOI_ADMIN_TOKEN" if settings.admin_token else str(settings.data_dir / "admin-token")
    model = "scripted (agents play scripts; add a credential or set ANTHROPIC_API_KEY to use a real model)"
    if not settings.uses_scripted_model:
        model = settings.model_name
    _print(
        f"OmoiOS is ready at {url}\n"
        f"  sign in       {link}\n"
        f"  API docs      {url}/docs\n"
        f"  admin token   {token}\n"
        f"  data folder   {settings.data_dir}\n"
        f"  model         {model}\n"
        "  Press Ctrl-C to stop"
    )


def _print(line: str) -> None:
    # The terminal or pipe may be closed; that must not stop the platform.
    with suppress(OSError):
        os.write(sys.stdout.fileno(), f"{printable(line)}\n".encode())
