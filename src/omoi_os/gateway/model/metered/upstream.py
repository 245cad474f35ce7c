"""An upstream: the host that answers model calls, with the secret it requires."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO

from aiohttp import ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, UnixConnector
from yarl import URL

from omoi_os.credentials.checks import model_headers
from omoi_os.credentials.kinds import CredentialProvider
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
    #: Decides which headers carry the key.
    provider: str = CredentialProvider.ANTHROPIC
    #: The model that every call uses; None leaves the choice to the task and the agent.
    model: str | None = None
    #: What to check when the host refuses the key.
    source: str = "ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL"

    @property
    def scripted(self) -> bool:
        """Return whether this is the scripted model."""
        return self.key is None

    async def open(
        self, path_and_query: str, body: bytes, *, headers: Mapping[str, str], payer: Payer
    ) -> ClientResponse:
        """Send a call and return when its answer starts. The caller must close the answer."""
        if self.key is None:
            own = task_headers(payer.title, payer.description)
        else:
            own = model_headers(self.provider, self.key)
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
