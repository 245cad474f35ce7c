"""Runs the API until a signal stops it."""

import asyncio
import errno
import signal
import socket
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime

import uvicorn
import uvloop

from omoi_os.accounts.admin_token import ensure_admin_token
from omoi_os.accounts.service import SETTING, ensure_admin
from omoi_os.api.app import make_app
from omoi_os.api.stream.sockets import StreamSocket
from omoi_os.bus.factory import open_bus
from omoi_os.config import Settings
from omoi_os.credentials.encryption import ensure_secret_key
from omoi_os.db import embedded, migrate
from omoi_os.db.base import Sessions, make_engine, make_sessions
from omoi_os.db.clock import Clock
from omoi_os.errors import SetupError
from omoi_os.http.wire import Wire
from omoi_os.sandboxes.messages.waiters import Waiters
from omoi_os.stream.hub import Hub
from omoi_os.system.garbage import spare_what_stays

DRAIN_SECONDS = 10
BACKLOG = 2048
#: Receive buffer of a connection; the kernel allocates twice as much.
RECEIVE_BYTES = 32 * 1024
#: Maximum size of a line that a client sends on the stream.
WS_MAX_BYTES = 16 * 1024
STOPPING = (signal.SIGTERM, signal.SIGINT)


class _Server(uvicorn.Server):
    """Returns after a signal; uvicorn raises it again, which would end the process before the cleanup."""

    def __init__(self, config: uvicorn.Config, waiters: Waiters, hub: Hub) -> None:
        super().__init__(config)
        self._waiters, self._hub = waiters, hub

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish open requests; end long polls and streams at once, so that clients reconnect."""
        await self._waiters.close()
        await self._hub.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop on SIGTERM and SIGINT."""
        loop = asyncio.get_running_loop()
        for number in STOPPING:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in STOPPING:
                loop.remove_signal_handler(number)


def serve(settings: Settings) -> None:
    """Run the API in its own process, on uvloop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(settings))


async def run(settings: Settings) -> None:
    """Migrate the database and serve until SIGTERM or SIGINT. Raise `SetupError` if the port is taken."""
    listener = _listen(settings.host, settings.port)
    database_url = settings.database_url or embedded.url(settings.data_dir)
    with migrate.answering():
        await migrate.upgrade(database_url)
    engine = make_engine(database_url)
    sessions = make_sessions(engine)
    try:
        with migrate.answering():
            await _ensure_admin(settings, sessions)
        async with open_bus(settings, database_url) as bus:
            app = make_app(settings, sessions, bus)
            config = uvicorn.Config(
                app,
                http=Wire,
                ws=StreamSocket,
                ws_max_size=WS_MAX_BYTES,
                ws_per_message_deflate=False,
                lifespan="off",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                log_level="warning",
                # Use our own logging configuration.
                log_config=None,
                timeout_graceful_shutdown=DRAIN_SECONDS,
            )
            spare_what_stays()
            async with _kept(app.state.clock, sessions), app.state.credential_masks.kept(bus):
                await _Server(config, app.state.waiters, app.state.hub).serve(sockets=[listener])
            await app.state.trail.close()
            await app.state.key_uses.close()
    finally:
        listener.close()
        await engine.dispose()


@asynccontextmanager
async def _kept(clock: Clock, sessions: Sessions) -> AsyncIterator[None]:
    """Keep the clock synchronised with the database while the block runs."""
    with migrate.answering():
        async with sessions() as session:
            await clock.read(session)
    keeping = asyncio.create_task(clock.keep(sessions))
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def _ensure_admin(settings: Settings, sessions: Sessions) -> None:
    token = await asyncio.to_thread(ensure_admin_token, settings)
    await asyncio.to_thread(ensure_secret_key, settings)
    async with sessions.begin() as session:
        folder = f"folder {settings.site}"
        source = SETTING if settings.admin_token is not None else folder
        await ensure_admin(session, token, now=datetime.now(UTC), source=source, replaces=(SETTING, folder))


def _listen(host: str, port: int) -> socket.socket:
    """Return the listening socket. It is bound first, so that a taken port is reported at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Received data uses memory before a request can be refused, on every connection.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise SetupError(
                f"port {port} on {host} is already in use; stop the program that uses it or set OMOI_PORT"
            ) from None
        raise SetupError(f"cannot listen on {host} port {port}: {error.strerror}; check OMOI_HOST") from None
    listener.setblocking(False)
    return listener
