"""Forwards the API calls that a sandbox may make, with the sandbox's own token."""

import logging
import re

from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, web
from yarl import URL

from omoi_os.audit.trail import foreign
from omoi_os.errors import Forbidden, NotFound, NotReady
from omoi_os.gateway.context import PARTS

log = logging.getLogger(__name__)

#: The longest call is the long poll for messages.
TIMEOUT = ClientTimeout(total=None, sock_connect=5, sock_read=120)

#: Above this the API is asked before the body is sent, so that its refusal is not lost in a broken pipe.
_EXPECT_BYTES = 256 * 1024

_ALLOWED = (
    ("POST", re.compile(r"events")),
    ("POST", re.compile(r"events/batch")),
    ("PUT", re.compile(r"blobs/[0-9a-f]{64}")),
    ("PUT", re.compile(r"transcript")),
    ("GET", re.compile(r"session")),
    ("GET", re.compile(r"messages")),
    ("POST", re.compile(r"messages/ack")),
    ("GET", re.compile(r"task")),
)

_REQUEST_HEADERS = (
    *("Authorization", "Accept", "Content-Type", "Content-Length", "Content-Encoding"),
    *("Idempotency-Key", "X-Session-Id"),
)
_RESPONSE_HEADERS = ("Content-Type", "Content-Length", "Retry-After", "WWW-Authenticate", "X-Session-Id")


def make_session() -> ClientSession:
    """Make a client for the API."""
    connector = TCPConnector(limit=0)
    return ClientSession(connector=connector, timeout=TIMEOUT, auto_decompress=False, cookie_jar=DummyCookieJar())


def add_routes(app: web.Application) -> None:
    """Add routes for everything under the API's base path."""
    app.router.add_route("*", "/api/v1/sandboxes/{sandbox_id}/{call:.+}", relay)
    app.router.add_route("*", "/api/v1/{path:.*}", refuse_path)


async def refuse_path(request: web.Request) -> web.StreamResponse:
    """Refuse calls that sandboxes may not make."""
    await request.app[PARTS].callers.identify(request)
    raise Forbidden(f"a sandbox may not {request.method} {request.path}")


async def relay(request: web.Request) -> web.StreamResponse:
    """Stream a call to the API, and its answer back."""
    parts = request.app[PARTS]
    # The API decides what an ended sandbox may still send.
    caller = await parts.callers.identify(request, saving=True)
    wanted = request.match_info["sandbox_id"]
    if wanted != caller.sandbox_id:
        await parts.trail.record(foreign(caller.sandbox_id, wanted, f"{request.method} {request.path}"))
        raise NotFound("this sandbox does not exist or is not the calling sandbox")
    call = request.match_info["call"]
    if not any(method == request.method and path.fullmatch(call) for method, path in _ALLOWED):
        return await refuse_path(request)
    base = parts.settings.effective_api_url.rstrip("/")
    url = URL(f"{base}/api/v1/sandboxes/{caller.sandbox_id}/{call}?{request.query_string}".rstrip("?"))
    large = request.body_exists and (request.content_length or _EXPECT_BYTES) >= _EXPECT_BYTES
    try:
        async with parts.api.request(
            request.method,
            url,
            headers={name: request.headers[name] for name in _REQUEST_HEADERS if name in request.headers},
            data=request.content if request.body_exists else None,
            expect100=large,
            allow_redirects=False,
        ) as answer:
            return await _pass_back(request, answer)
    except (ClientError, TimeoutError) as error:
        log.warning("the API does not answer: %s", error)
        raise NotReady("the API is not available; try again in a moment") from error


async def _pass_back(request: web.Request, answer: ClientResponse) -> web.StreamResponse:
    headers = {name: answer.headers[name] for name in _RESPONSE_HEADERS if name in answer.headers}
    response = web.StreamResponse(status=answer.status, headers=headers)
    await response.prepare(request)
    try:
        async for chunk in answer.content.iter_any():
            await response.write(chunk)
    except (ClientError, TimeoutError):
        # Close the connection: an answer that merely ends would look complete.
        if request.transport is not None:
            request.transport.close()
        return response
    await response.write_eof()
    return response
