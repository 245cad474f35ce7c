"""The gateway's process."""

import asyncio
import fcntl
import logging
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

from aiohttp import web

from omoi_os import tables  # noqa: F401  foreign keys name tables that nothing else here imports
from omoi_os.audit.trail import Trail
from omoi_os.bus.base import Bus
from omoi_os.bus.factory import open_bus
from omoi_os.config import Settings
from omoi_os.credentials.encryption import Keyring
from omoi_os.credentials.masks import CredentialMasks
from omoi_os.db import embedded
from omoi_os.db.base import make_engine, make_sessions
from omoi_os.errors import SetupError
from omoi_os.forges.registry import make_mirrors
from omoi_os.gateway import api_calls as relay
from omoi_os.gateway.callers import Callers
from omoi_os.gateway.context import PARTS, Parts
from omoi_os.gateway.git import routes as git
from omoi_os.gateway.model import routes as model
from omoi_os.gateway.model.metered.calls import MAX_BODY_BYTES
from omoi_os.gateway.model.metered.client import ModelClient
from omoi_os.gateway.model.metered.credentials import open_credentials
from omoi_os.gateway.model.metered.prices import PriceTable
from omoi_os.gateway.model.metered.reservations import Reservations
from omoi_os.gateway.model.seen_messages import Sightings
from omoi_os.gateway.problems import answer_errors
from omoi_os.gateway.sockets import GatewaySockets
from omoi_os.masking import Masker
from omoi_os.sandboxes.site_owners import claim_repositories
from omoi_os.system.garbage import spare_what_stays

log = logging.getLogger(__name__)

#: How long running calls may take to end when the gateway stops.
_SHUTDOWN_SECONDS = 3.0


def make_app(parts: Parts) -> web.Application:
    """Make the application that serves sandboxes. A gateway socket identifies its caller; over TCP the token does."""
    app = web.Application(middlewares=[answer_errors], client_max_size=MAX_BODY_BYTES)
    app[PARTS] = parts
    for part in (model, relay, git):
        part.add_routes(app)
    return app


@asynccontextmanager
async def serving(settings: Settings, *, database_url: str, bus: Bus) -> AsyncIterator[web.AppRunner]:
    """Run a gateway with a socket for every live sandbox while the block runs."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(_own_folder(settings.data_dir / "gateway"))
        engine = make_engine(database_url)
        stack.push_async_callback(engine.dispose)
        sessions = make_sessions(engine)
        async with sessions.begin() as session:
            await claim_repositories(session, site=settings.site, data_dir=settings.data_dir)
        masker, keyring = Masker(settings.secrets), Keyring(settings)
        masks = CredentialMasks(masker, sessions, keyring)
        await stack.enter_async_context(masks.kept(bus))
        trail = Trail(sessions, masker)
        stack.push_async_callback(trail.close)
        parts = Parts(
            settings=settings,
            sessions=sessions,
            callers=Callers(sessions, trail),
            api=await stack.enter_async_context(relay.make_session()),
            models=ModelClient(
                sessions=sessions,
                credentials=await stack.enter_async_context(
                    open_credentials(settings, folder, sessions=sessions, keyring=keyring, masks=masks)
                ),
                prices=PriceTable.load(settings.prices),
                reservations=Reservations(sessions),
            ),
            sightings=Sightings(sessions, bus),
            masker=masker,
            trail=trail,
            git_backend=partial(make_mirrors, settings=settings),
        )
        renewing = asyncio.create_task(parts.models.reservations.keep())
        stack.callback(renewing.cancel)
        stack.push_async_callback(parts.background.finish, timeout=_SHUTDOWN_SECONDS)
        runner = web.AppRunner(
            make_app(parts),
            access_log=None,
            # Bodies are passed on as they are. A caller that disconnects cancels its handler.
            auto_decompress=False,
            handler_cancellation=True,
            shutdown_timeout=_SHUTDOWN_SECONDS,
        )
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        sockets = GatewaySockets(
            settings.gateway_sockets_dir, runner, site=settings.site, sessions=sessions, callers=parts.callers
        )
        await stack.enter_async_context(_kept(sockets, bus))
        yield runner


async def run(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT."""
    serving_task = asyncio.create_task(_serve(settings))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, serving_task.cancel)
    try:
        await asyncio.wait({serving_task})
    finally:
        serving_task.cancel()
        await asyncio.gather(serving_task, return_exceptions=True)
    if not serving_task.cancelled():
        serving_task.result()


async def _serve(settings: Settings) -> None:
    database_url = settings.database_url or embedded.url(settings.data_dir)
    async with (
        open_bus(settings, database_url) as bus,
        serving(settings, database_url=database_url, bus=bus) as runner,
    ):
        log.info("the gateway is ready: sockets in %s, %s model", settings.gateway_sockets_dir, _which_model(settings))
        if settings.callback_url is not None:
            await _listen_for_remote_sandboxes(settings, runner)
        spare_what_stays()
        await asyncio.Event().wait()


async def _listen_for_remote_sandboxes(settings: Settings, runner: web.AppRunner) -> None:
    """Listen on TCP, where the token alone identifies the caller. A proxy in front terminates TLS."""
    try:
        await web.TCPSite(runner, settings.gateway_host, settings.gateway_port).start()
    except OSError as error:
        where = f"{settings.gateway_host}:{settings.gateway_port}"
        remedy = "stop the other program or change OMOI_GATEWAY_HOST and OMOI_GATEWAY_PORT"
        raise SetupError(f"the gateway cannot listen on {where} ({error.strerror}); {remedy}") from error


def _which_model(settings: Settings) -> str:
    return "scripted" if settings.uses_scripted_model else "real"


@asynccontextmanager
async def _kept(sockets: GatewaySockets, bus: Bus) -> AsyncIterator[None]:
    """Keep the sockets up to date while the block runs. If that fails for good, so does the block."""
    opened = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(sockets.keep(bus, opened))
        await opened.wait()
        try:
            yield
        finally:
            keeping.cancel()


@contextmanager
def _own_folder(folder: Path) -> Iterator[Path]:
    """Lock a private folder for one gateway: two would replace each other's sockets."""
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.mkdir(exist_ok=True, mode=0o700)
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            remedy = "stop it or set another OMOI_DATA_DIR"
            raise SetupError(f"another gateway uses {folder.parent}; {remedy}") from None
        yield folder
    finally:
        os.close(handle)
