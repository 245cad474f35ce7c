"""Protects every response: no content sniffing, and no foreign host names for an API on a loopback address."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from omoi_os.config import Settings
from omoi_os.http.problems import problem

MISDIRECTED = 421


class Guard:
    """Refuses unknown host names (DNS rebinding) and adds security headers."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._names = frozenset(allowed_names(settings)) if _is_loopback(settings.host) else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on with security headers for its response."""
        if scope["type"] == "http":
            if self._names is not None and not self._allows(scope):
                detail = "this server does not accept the name in the Host header; add it to OMOI_ALLOWED_HOSTS"
                await problem(MISDIRECTED, detail, code="misdirected")(scope, receive, send)
                return
            await self._app(scope, receive, _marking(send))
        else:
            # A WebSocket is accepted only with a credential and from a page of the same host.
            await self._app(scope, receive, send)

    def _allows(self, scope: Scope) -> bool:
        host = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1")
        name = hostname(host)
        return name is not None and (name in (self._names or ()) or _is_loopback(name))


def allowed_names(settings: Settings) -> set[str]:
    """Return the host names of an API that listens on a loopback address."""
    configured = (hostname(urlsplit(url).netloc) for url in (settings.api_url, settings.public_url) if url)
    return {"localhost", settings.host.lower(), *settings.allowed_hosts, *filter(None, configured)}


def hostname(host: str) -> str | None:
    """Return the name in a Host header without its port; None if there is none."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _is_loopback(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _marking(send: Send) -> Send:
    async def send_marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.setdefault("X-Content-Type-Options", "nosniff")
            headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
            headers.setdefault("X-Frame-Options", "DENY")
        await send(message)

    return send_marked
