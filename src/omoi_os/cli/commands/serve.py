"""`omoi serve`: the whole platform on one machine, each part a process of its own."""

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

#: The orchestrator saves the work of its sandboxes before it stops them.
SALVAGE_SECONDS = 60.0
#: The API and the gateway let calls under way end.
DRAIN_SECONDS = 15.0
READY_SECONDS = 60.0
#: A part that dies so often in a row before all is ready will not get better by itself.
GIVE_UP_AFTER = 5
#: How often the orchestrator's health is looked at.
HEALTH_SECONDS = 10.0


def run(parameters: dict[str, Any]) -> int:
    """Run until SIGINT or SIGTERM, then stop everything in order; a second signal stops at once."""
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
        supervisor = Supervisor(_programs(settings, url), say=_say)
        signals.on_second = supervisor.kill
        watch = asyncio.create_task(_keep_database(settings, database)) if own_database else None
        try:
            await _run_until_told(supervisor, settings.model_copy(update={"database_url": url}), signals)
        finally:
            await supervisor.stop()
            if watch is not None:
                async with database:
                    watch.cancel()
    finally:
        if own_database:
            await embedded.stop(settings.data_dir)
    return 130 if signals.count > 1 else 0


async def _run_until_told(supervisor: Supervisor, settings: Settings, signals: "_Signals") -> None:
    if signals.first.is_set():
        return
    await supervisor.start()
    told = asyncio.create_task(signals.first.wait())
    health = asyncio.create_task(_watch_orchestrator(settings))
    ready = asyncio.create_task(_wait_until_ready(supervisor, settings))
    try:
        await asyncio.wait([told, ready], return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            ready.result()
            _welcome(settings, await _sign_in(settings))
            await told
            _say("stopping; work in progress is saved first (Ctrl-C again stops at once)")
    finally:
        for task in (told, ready, health):
            task.cancel()
            with suppress(asyncio.CancelledError, SetupError):
                await task


class _Signals:
    """What the terminal or the system asks of us."""

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
    """In the order of their start; they stop the other way round, so the orchestrator still has the others."""
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
    """The command that starts this program again; `-P` keeps the current folder's files from being imported."""
    return (sys.executable, "-P", "-m", "omoi_os")


def _command(name: str) -> Sequence[str]:
    return (*omoi(), name, "--no-migrate")


async def _wait_until_ready(supervisor: Supervisor, settings: Settings) -> None:
    """Return when the API says so; `SetupError` when a part keeps dying or nothing happens for long."""
    deadline = asyncio.get_running_loop().time() + READY_SECONDS
    async with httpx.AsyncClient(base_url=settings.effective_api_url, trust_env=False, timeout=5) as client:
        while True:
            with suppress(httpx.TransportError):
                if (await client.get("/ready")).is_success and all(map(supervisor.pid, supervisor.failures)):
                    return
            for name, failures in supervisor.failures.items():
                if failures >= GIVE_UP_AFTER:
                    raise SetupError(f"the {name} ended {failures} times in a row; the lines above say why")
            if asyncio.get_running_loop().time() > deadline:
                raise SetupError(f"{settings.effective_api_url}/ready did not say ready within {READY_SECONDS:g} s")
            await asyncio.sleep(0.05)


async def _keep_database(settings: Settings, lock: asyncio.Lock) -> None:
    """Start the embedded server again when it ends by itself; the lock is held while it starts."""
    while True:
        await embedded.ended(settings.data_dir)
        async with lock:
            _say("the database ended; it starts again")
            try:
                await embedded.start(settings.data_dir)
            except SetupError as error:
                _say(f"{error}; trying again in 5 s")
        if not embedded.running(settings.data_dir):
            await asyncio.sleep(5)


async def _watch_orchestrator(settings: Settings) -> None:
    """Say when the orchestrator's health check fails, and when it passes again."""
    said: list[str] = []
    while settings.orchestrator_enabled:
        await asyncio.sleep(HEALTH_SECONDS)
        # One that is starting again has no health file yet; its end was said already.
        complaints = [found for found in orchestrator_health.check(settings.data_dir) if "no orchestrator" not in found]
        if complaints and not said:
            _say(f"{complaints[0]}; tasks may wait until this is over")
        elif said and not complaints:
            _say("the orchestrator is healthy again")
        said = complaints


async def _sign_in(settings: Settings) -> str:
    """The link on a terminal; elsewhere, where it would stay in a log, or without the database, how to get one."""
    if not sys.stdout.isatty():
        return _HOW_TO_SIGN_IN
    try:
        return f"{await sign_in.link(settings)} (once, within 24 hours)"
    except SetupError:
        return _HOW_TO_SIGN_IN


def _welcome(settings: Settings, link: str) -> None:
    url = settings.effective_api_url
    token = "OMOI_ADMIN_TOKEN" if settings.admin_token else str(settings.data_dir / "admin-token")
    model = "scripted: it plays the agent's part from scripts; set ANTHROPIC_API_KEY to use a real model"
    if not settings.uses_scripted_model:
        model = settings.model_name
    _say(
        f"OmoiOS is ready at {url}\n"
        f"  sign in           {link}\n"
        f"  API described at  {url}/docs\n"
        f"  admin token in    {token}\n"
        f"  data folder       {settings.data_dir}\n"
        f"  model             {model}\n"
        "  Ctrl-C stops it"
    )


def _say(line: str) -> None:
    # The other end may be a closed terminal or pipe; that must not stop the platform.
    with suppress(OSError):
        os.write(sys.stdout.fileno(), f"{printable(line)}\n".encode())
