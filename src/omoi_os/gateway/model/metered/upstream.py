"""An upstream: the host that answers model calls, with the secret it requires."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO

from aiohttp import ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, UnixConnector
from yarl import URL

from omoi_os.gateway.model.metered.payers import Payer
from omoi_os.scripted_model.headers import task_headers

#: A model may take minutes until its first token, but hosts send pings in between.
TIMEOUT = ClientTimeout(total=None, sock_connect=10, sock_read=600)


@dataclass(frozen=True, slots=True)
class Upstream:
    """One host with one secret. No other part of the platform knows the secret."""

    session: ClientSession
    base_url: str
    #: None for the scripted model, which requires no key.
    key: str | None = field(repr=False)

    @property
    def scripted(self) -> bool:
        """Return whether this is the scripted model."""
        return self.key is None

    async def open(
        self, path_and_query: str, body: bytes, *, headers: Mapping[str, str], payer: Payer
    ) -> ClientResponse:
        """Send a call and return when its answer starts. The caller must close the answer."""
        own = task_headers(payer.title, payer.description) if self.key is None else {"x-api-key": self.key}
        return await self.session.post(
            URL(self.base_url + path_and_query, encoded=True),
            data=BytesIO(body),
            # Metering reads the answer, so it must not be compressed.
            headers={**headers, **own, "Accept-Encoding": "identity"},
            # A redirect would send the key to another host.
            allow_redirects=False,
        )


def make_session(connector: UnixConnector | TCPConnector) -> ClientSession:
    """Make a client for an upstream."""
    return ClientSession(connector=connector, timeout=TIMEOUT, auto_decompress=False, cookie_jar=DummyCookieJar())
