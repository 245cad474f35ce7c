"""Limits for the size of request bodies, checked before and while a body is read."""

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

#: Bodies that their route streams, and bounds and decodes itself.
_STREAMED = re.compile(r"/git/[^/]+/git-(upload|receive)-pack")


def limit_for(method: str, path: str) -> int:
    """Return the maximum size in bytes for the body of a request."""
    return next(
        (limit for verb, pattern, limit in _LARGER if verb == method and pattern.fullmatch(path)), DEFAULT_LIMIT
    )


def is_streamed(method: str, path: str) -> bool:
    """Return whether a request's route reads a body of any size piece by piece."""
    return method == "POST" and _STREAMED.fullmatch(path) is not None


class BodyLimits:
    """Refuses encoded bodies, and bodies that are too large by their declared or their actual length."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a bounded body."""
        if scope["type"] != "http" or is_streamed(scope["method"], scope["path"]):
            await self._app(scope, receive, send)
            return
        limit = limit_for(scope["method"], scope["path"])
        refused = refusal(dict(scope["headers"]), limit)
        if refused is not None:
            await refused(scope, receive, send)
            return
        await self._app(scope, _bounded(receive, limit), send)


def refusal(headers: Mapping[bytes, bytes], limit: int) -> Response | None:
    """Return the response to a request whose headers already show that its body must be refused; None for others."""
    encoding = headers.get(b"content-encoding")
    if encoding is not None and encoding.strip().lower() != b"identity":
        detail = "send the body unencoded: the only supported Content-Encoding is identity"
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
