"""The API's calls that a sandbox may make, passed on with the sandbox's own token."""

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
_ASK_FIRST_BYTES = 256 * 1024

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
    """A client for the API."""
    connector = TCPConnector(limit=0)
    return ClientSession(connector=connector, timeout=TIMEOUT, auto_decompress=False, cookie_jar=DummyCookieJar())


def add_routes(app: web.Application) -> None:
    """Everything under the API's base, allowed or not."""
    app.router.add_route("*", "/api/v1/sandboxes/{sandbox_id}/{call:.+}", relay)
    app.router.add_route("*", "/api/v1/{path:.*}", refuse_path)


async def refuse_path(request: web.Request) -> web.StreamResponse:
    """What belongs to users."""
    await request.app[PARTS].callers.identify(request)
    raise Forbidden(f"a sandbox may not {request.method} {request.path}")


async def relay(request: web.Request) -> web.StreamResponse:
    """Pass a call on to the API, and its answer back, both as they come."""
    parts = request.app[PARTS]
    # What an ended sandbox may still send is for the API to say.
    caller = await parts.callers.identify(request, saving=True)
    wanted = request.match_info["sandbox_id"]
    if wanted != caller.sandbox_id:
        await parts.trail.record(foreign(caller.sandbox_id, wanted, f"{request.method} {request.path}"))
        raise NotFound("there is no such sandbox, or it is not the one that is calling")
    call = request.match_info["call"]
    if not any(method == request.method and path.fullmatch(call) for method, path in _ALLOWED):
        return await refuse_path(request)
    base = parts.settings.effective_api_url.rstrip("/")
    url = URL(f"{base}/api/v1/sandboxes/{caller.sandbox_id}/{call}?{request.query_string}".rstrip("?"))
    large = request.body_exists and (request.content_length or _ASK_FIRST_BYTES) >= _ASK_FIRST_BYTES
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
        raise NotReady("the API does not answer; try again in a moment") from error


async def _pass_back(request: web.Request, answer: ClientResponse) -> web.StreamResponse:
    headers = {name: answer.headers[name] for name in _RESPONSE_HEADERS if name in answer.headers}
    response = web.StreamResponse(status=answer.status, headers=headers)
    await response.prepare(request)
    try:
        async for chunk in answer.content.iter_any():
            await response.write(chunk)
    except (ClientError, TimeoutError):
        # The worker has to see a broken answer, not a short one.
        if request.transport is not None:
            request.transport.close()
        return response
    await response.write_eof()
    return response
