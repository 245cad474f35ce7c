"""Where model calls go: the configured model with its real key, or the scripted model in this process."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from aiohttp import ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, UnixConnector, web
from yarl import URL

from omoi_os.config import Settings
from omoi_os.gateway.callers import Caller
from omoi_os.scripted_model.headers import task_headers
from omoi_os.scripted_model.server import make_app

#: A model may think for long before its first word, but hosts send a ping now and then.
TIMEOUT = ClientTimeout(total=None, sock_connect=10, sock_read=600)


@dataclass(frozen=True, slots=True)
class Upstream:
    """One model's host. Its key is known to no other part of the gateway."""

    session: ClientSession
    base_url: str
    key: str | None

    @property
    def scripted(self) -> bool:
        """Whether this is the scripted model, which asks for no key and is told which task is calling."""
        return self.key is None

    async def open(
        self, path_and_query: str, body: bytes, *, headers: Mapping[str, str], caller: Caller
    ) -> ClientResponse:
        """Send a call and return once its answer begins; the caller of this closes it."""
        own = task_headers(caller.title, caller.description) if self.key is None else {"x-api-key": self.key}
        return await self.session.post(
            URL(self.base_url + path_and_query, encoded=True),
            data=BytesIO(body),
            # Plain text, because what passes by is metered.
            headers={**headers, **own, "Accept-Encoding": "identity"},
            # A redirect would carry the key to another host.
            allow_redirects=False,
        )

    def mask(self, body: bytes) -> bytes:
        """The text without the key, should a host ever repeat it in an error."""
        return body.replace(self.key.encode(), b"***") if self.key else body


@asynccontextmanager
async def open_upstream(settings: Settings, folder: Path) -> AsyncIterator[Upstream]:
    """The upstream that the settings choose; `folder` is private to this process."""
    if settings.uses_scripted_model:
        address = str(folder / "scripted.sock")
        async with (
            _scripted_model(settings.scripts_dir, address),
            _session(UnixConnector(path=address, limit=0)) as session,
        ):
            yield Upstream(session, "http://scripted", None)
    else:
        async with _session(TCPConnector(limit=0)) as session:
            yield Upstream(session, settings.anthropic_base_url.rstrip("/"), settings.anthropic_api_key)


def _session(connector: UnixConnector | TCPConnector) -> ClientSession:
    return ClientSession(connector=connector, timeout=TIMEOUT, auto_decompress=False, cookie_jar=DummyCookieJar())


@asynccontextmanager
async def _scripted_model(scripts_dir: Path | None, address: str) -> AsyncIterator[None]:
    runner = web.AppRunner(make_app(scripts_dir), access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.UnixSite(runner, address).start()
        yield
    finally:
        await runner.cleanup()
