"""How large a body may be, decided before it is read."""

import re
from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from omoi_os.http.problems import BodyTooLarge, problem

MIB = 1024 * 1024
DEFAULT_LIMIT = 1 * MIB
BATCH_LIMIT = 4 * MIB
BLOB_LIMIT = 32 * MIB
TRANSCRIPT_LIMIT = 64 * MIB

_LARGER = (
    ("POST", re.compile(r"/api/v1/sandboxes/[^/]+/events/batch"), BATCH_LIMIT),
    ("PUT", re.compile(r"/api/v1/sandboxes/[^/]+/blobs/[^/]+"), BLOB_LIMIT),
    ("PUT", re.compile(r"/api/v1/sandboxes/[^/]+/transcript"), TRANSCRIPT_LIMIT),
)


def limit_for(method: str, path: str) -> int:
    """The most bytes that the body of such a request may have."""
    return next(
        (limit for verb, pattern, limit in _LARGER if verb == method and pattern.fullmatch(path)), DEFAULT_LIMIT
    )


class BodyLimits:
    """Refuses bodies that are too large, said so by their length or found so while they come in, and encoded ones."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a bounded body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = limit_for(scope["method"], scope["path"])
        refused = refusal(dict(scope["headers"]), limit)
        if refused is not None:
            await refused(scope, receive, send)
            return
        await self._app(scope, _bounded(receive, limit), send)


def refusal(headers: Mapping[bytes, bytes], limit: int) -> Response | None:
    """The answer to a request whose head says already that its body is not taken."""
    encoding = headers.get(b"content-encoding")
    if encoding is not None and encoding.strip().lower() != b"identity":
        detail = "send the body as it is: no Content-Encoding but identity is taken"
        return problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail)
    declared = headers.get(b"content-length", b"0")
    if not declared.isdigit() or len(declared) > 18 or int(declared) > limit:
        error = BodyTooLarge(limit)
        return problem(error.status_code, error.detail)
    return None


def _bounded(receive: Receive, limit: int) -> Receive:
    seen = 0

    async def receive_bounded() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > limit:
                raise BodyTooLarge(limit)
        return message

    return receive_bounded
