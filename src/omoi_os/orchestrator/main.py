"""The orchestrator's process: on every change, compare what should be with what is, and act."""

import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from omoi_os import tables  # noqa: F401  foreign keys name tables that nothing else here imports
from omoi_os.bus.base import Topic
from omoi_os.bus.factory import open_bus
from omoi_os.config import Settings
from omoi_os.credentials.encryption import Keyring
from omoi_os.credentials.masks import CredentialMasks
from omoi_os.db.base import make_engine, make_sessions, plain_url
from omoi_os.db.clock import READ_SECONDS, Clock
from omoi_os.db.embedded import url as embedded_url
from omoi_os.health.orchestrator_presence import presence
from omoi_os.masking import Masker
from omoi_os.orchestrator import own_health
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.dispatcher import dispatch
from omoi_os.orchestrator.dispatch.warm_pool import drain, refill
from omoi_os.orchestrator.dispatch.worker_bytecode import compile_worker
from omoi_os.orchestrator.provider_cache import Providers
from omoi_os.orchestrator.recovery import sandbox_rows
from omoi_os.orchestrator.recovery.reaper import reap
from omoi_os.orchestrator.recovery.reconciler import reconcile
from omoi_os.orchestrator.recovery.salvage import look_after
from omoi_os.orchestrator.recovery.unreachable_sandboxes import attend_sites
from omoi_os.orchestrator.served_sites import check_site, serve_sites
from omoi_os.orchestrator.upkeep.free_space import confirm_free_space
from omoi_os.orchestrator.upkeep.long_transactions import report_long_transactions
from omoi_os.orchestrator.upkeep.prepared_checkouts import remove_unfinished
from omoi_os.orchestrator.upkeep.pruning import prune
from omoi_os.orchestrator.upkeep.repository_damage import examine_repositories
from omoi_os.orchestrator.upkeep.repository_gc import maintain
from omoi_os.orchestrator.upkeep.storage_quotas import enforce_quotas
from omoi_os.orchestrator.verification.verifier import verify
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import StopCause
from omoi_os.sandboxes.models import Installation
from omoi_os.sandboxes.site_owners import claim_repositories
from omoi_os.tasks import repository as tasks_repository

log = logging.getLogger(__name__)

#: How long sandboxes may take to save their work when the platform stops.
STOP_SECONDS = 50.0

#: The delay between a change and the full comparison. By then the new sandbox has mostly started, and changes that
#: happen together are compared once.
COMPARE_AFTER_SECONDS = 0.2


async def run(settings: Settings) -> None:
    """Run the orchestrator until SIGTERM or SIGINT."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    async with open_context(settings) as context:
        if warning := context.providers.default.limits_warning:
            log.warning("%s", warning)
        context.jobs.start("compile the worker", compile_worker)
        context.jobs.start("remove unfinished repositories", partial(remove_unfinished, context))
        own_health.forget(settings.data_dir)
        await work(context, stopping)
        if settings.stop_sandboxes:
            await stop_all(context)
        await context.jobs.finish("spawn ", timeout=STOP_SECONDS)
        await context.jobs.cancel()
        own_health.forget(settings.data_dir)


@asynccontextmanager
async def open_context(settings: Settings) -> AsyncIterator[Context]:
    """Open the connections of an orchestrator and close them at the end."""
    database_url = settings.database_url or embedded_url(settings.data_dir)
    engine = make_engine(database_url)
    providers = Providers(settings)
    try:
        sessions = make_sessions(engine)
        clock = Clock()
        async with sessions() as session, session.begin():
            await clock.read(session)
            await claim_repositories(session, site=settings.site, data_dir=settings.data_dir)
            installation = (await session.get_one(Installation, 1)).name
        async with presence(plain_url(database_url)) as owner, open_bus(settings, database_url) as bus:
            masker = Masker(settings.secrets)
            context = Context(
                settings=settings,
                sessions=sessions,
                bus=bus,
                providers=providers,
                masker=masker,
                owner=owner,
                installation=installation,
                clock=clock,
            )
            await check_site(context)
            await serve_sites(context)
            async with CredentialMasks(masker, sessions, Keyring(settings)).kept(bus):
                yield context
    finally:
        await providers.close()
        await engine.dispose()


async def work(context: Context, stopping: asyncio.Event) -> None:
    """Run turns until `stopping` is set.

    A change dispatches and verifies tasks at once. The full comparison follows a moment later, as it does after the end
    of a job, and at the latest after `reconcile_seconds`, in case a wake-up was lost.
    """
    async with context.bus.listen(Topic.WORK) as wakeups:
        changed = asyncio.Event()

        async def listen() -> None:
            async for _ in wakeups:
                changed.set()

        listener = asyncio.create_task(listen())
        compare_at = time.monotonic()
        try:
            while not stopping.is_set():
                changed.clear()
                context.jobs.ended.clear()
                pause = await turn(context, compares=time.monotonic() >= compare_at)
                if pause is not None:
                    compare_at = time.monotonic() + pause
                while await _first_of(stopping, changed, context.jobs.ended, until=compare_at):
                    compare_at = min(compare_at, time.monotonic() + COMPARE_AFTER_SECONDS)
                    if changed.is_set() or stopping.is_set():
                        break
                    context.jobs.ended.clear()
        finally:
            listener.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await listener


async def turn(context: Context, *, compares: bool) -> float | None:
    """Run one turn; with `compares`, return how long to pause before the next full comparison.

    Every step runs even if another one fails.
    """
    started = time.monotonic()
    rest = context.settings.reconcile_seconds
    steps = (dispatch, verify)
    comparisons = (_read_clock, reconcile, look_after, reap, attend_sites, refill)
    reports = (confirm_free_space, report_long_transactions)
    upkeep = (prune, maintain, enforce_quotas, examine_repositories, *reports)
    for step in (*steps, *comparisons, *upkeep) if compares else steps:
        with context.health.step(step.__name__.strip("_")):
            await step(context)
    pause: float | None = None
    if compares:
        pause = rest
        with context.health.step("queue"):
            pause = await _until_next_task(context, rest)
    if not context.health.turn_ended(started):
        pause = min(rest, 1.0)
    await context.health.publish(context, pause=rest)
    return pause


async def _until_next_task(context: Context, rest: float) -> float:
    """Return the seconds until the next postponed task is ready, at most `rest`."""
    async with context.sessions() as session:
        now = context.now()
        next_ready = await tasks_repository.earliest_not_before(session, now=now)
    return min(rest, max(0.0, (next_ready - now).total_seconds())) if next_ready else rest


async def _read_clock(context: Context) -> None:
    if context.timers.is_due("clock", every=READ_SECONDS):
        async with context.sessions() as session:
            await context.clock.read(session)


async def stop_all(context: Context) -> None:
    """Save the work of this site's sandboxes and stop them; their tasks return to the queue."""
    for provider in context.providers:
        for row, _ in await sandbox_rows.alive(context, provider):
            with context.health.isolated(f"sandbox {row.id}"):
                async with context.sessions() as session, session.begin():
                    await sandboxes.request_stop(
                        session, context.bus, row, cause=StopCause.PLATFORM_STOPS, reason="the platform was stopped"
                    )
    await drain(context)
    await context.jobs.finish("spawn ", "warm ", timeout=STOP_SECONDS)
    await reconcile(context)
    await context.jobs.finish("end ", "remove ", timeout=STOP_SECONDS)


async def _first_of(*events: asyncio.Event, until: float) -> bool:
    """Wait until one of the events is set or this moment has come; return whether one was set."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    timeout = max(0.0, until - time.monotonic())
    done, _ = await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    await asyncio.gather(*waits, return_exceptions=True)
    return bool(done)
