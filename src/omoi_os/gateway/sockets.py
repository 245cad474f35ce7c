"""Gateway sockets: one unix socket per sandbox, open while the sandbox is alive."""

import asyncio
import logging
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

from aiohttp import web
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from omoi_os.bus.base import Bus, Topic
from omoi_os.db.base import Sessions
from omoi_os.gateway.callers import Callers
from omoi_os.protocol.paths import GATEWAY_SOCKET
from omoi_os.sandboxes import salvages
from omoi_os.sandboxes.lifecycle import ALIVE
from omoi_os.sandboxes.models import Sandbox, WarmSandbox

log = logging.getLogger(__name__)

#: Interval between two comparisons, in case a wake-up is lost.
COMPARE_SECONDS = 10.0

#: Maximum per sandbox. An agent uses a handful; more would exhaust the gateway's open files.
MAX_CONNECTIONS = 128
_BACKLOG = 128


class GatewaySockets:
    """Keeps one `folder/<gateway_socket>/gateway.sock` for each live sandbox of one site."""

    def __init__(self, folder: Path, runner: web.AppRunner, *, site: str, sessions: Sessions, callers: Callers) -> None:
        self._folder = folder
        self._site = site
        self._runner = runner
        self._sessions = sessions
        self._callers = callers
        self._open: dict[str, asyncio.Server] = {}
        self._changing = asyncio.Lock()

    async def keep(self, bus: Bus, opened: asyncio.Event) -> None:
        """Follow the database until cancelled. Sets `opened` once every live sandbox has its socket."""
        try:
            async with bus.listen(Topic.SANDBOXES) as wakeups, asyncio.TaskGroup() as both:
                both.create_task(self._compare_now_and_then(opened))
                async for wakeup in wakeups:
                    key = None if wakeup.resync else wakeup.key
                    self._callers.forget(key)
                    await self._try_to_compare(key)
        finally:
            # The folders stay for the next gateway.
            for socket in self._open.values():
                socket.close()

    async def compare(self, sandbox_id: str | None = None) -> None:
        """Open the sockets of live sandboxes and close the others; for one sandbox or for all."""
        async with self._changing:
            # Read folders before rows: a row is written before its folder, so no new folder is taken for a leftover.
            there = set() if sandbox_id else set(await asyncio.to_thread(_names, self._folder)) | set(self._open)
            alive, over = await self._rows(sandbox_id)
            if unused := (there | over) - alive:
                for name in unused - await self._waiting():
                    await self._close(name)
            for name in alive - set(self._open):
                await self._open_socket(name)

    async def _compare_now_and_then(self, opened: asyncio.Event) -> None:
        while True:
            if await self._try_to_compare(None):
                opened.set()
            await asyncio.sleep(COMPARE_SECONDS)

    async def _try_to_compare(self, sandbox_id: str | None) -> bool:
        try:
            await self.compare(sandbox_id)
        except (DBAPIError, PoolTimeoutError, OSError) as error:
            log.warning("the gateway sockets could not be updated, retrying: %s", error)
            return False
        return True

    async def _rows(self, sandbox_id: str | None) -> tuple[set[str], set[str]]:
        """Return the sockets of sandboxes alive or with unsaved work, and that of `sandbox_id` if it has ended."""
        query = select(Sandbox.gateway_socket, Sandbox.status).where(Sandbox.site == self._site)
        query = query.where(Sandbox.id == sandbox_id if sandbox_id else Sandbox.status.in_(ALIVE))
        async with self._sessions() as session:
            rows = (await session.execute(query)).all()
            alive = {row.gateway_socket for row in rows if row.status in ALIVE}
            if sandbox_id is None or not alive:
                only = [sandbox_id] if sandbox_id else ()
                alive |= await salvages.gateway_sockets(session, site=self._site, sandbox_ids=only)
        return alive, {row.gateway_socket for row in rows} - alive

    async def _waiting(self) -> set[str]:
        """Return the gateway sockets of warm sandboxes: their folders are mounted, but no socket is open yet."""
        async with self._sessions() as session:
            return set((await session.scalars(select(WarmSandbox.id).where(WarmSandbox.site == self._site))).all())

    async def _open_socket(self, name: str) -> None:
        try:
            listener = await asyncio.to_thread(_listen, self._folder / name)
        except OSError as error:
            log.error("the gateway socket %s could not be opened, retrying: %s", name, error)
            return
        loop = asyncio.get_running_loop()
        self._open[name] = await loop.create_server(self._connections(listener), sock=listener, backlog=_BACKLOG)

    def _connections(self, listener: socket.socket) -> Callable[[], asyncio.Protocol]:
        """Return a protocol factory that closes connections beyond the limit of the sandbox."""
        server, name = self._runner.server, listener.getsockname()
        assert server is not None  # noqa: S101  the runner was set up

        def accept() -> asyncio.Protocol:
            transports = [one.transport for one in server.connections]
            held = [one for one in transports if one is not None and one.get_extra_info("sockname") == name]
            if len(held) < MAX_CONNECTIONS:
                return server()
            return _Refusal()

        return accept

    async def _close(self, name: str) -> None:
        if socket := self._open.pop(name, None):
            socket.close()
        await asyncio.to_thread(shutil.rmtree, self._folder / name, ignore_errors=True)


class _Refusal(asyncio.Protocol):
    """Closes a connection without serving it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close the connection."""
        transport.close()


def _names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []


def _listen(folder: Path) -> socket.socket:
    """A listening socket under its final name, which a killed gateway may have left behind.

    The sandbox has the folder bound in and its own uid, so the folder and the socket are open to all; the
    folders above them are not. The socket is created temporary and renamed, so that a visible one accepts connections.
    """
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    temporary = folder / ".new"
    temporary.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(temporary))
        listener.listen(_BACKLOG)
        temporary.chmod(0o666)
        temporary.rename(folder / GATEWAY_SOCKET)
    except OSError:
        listener.close()
        raise
    return listener
