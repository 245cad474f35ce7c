"""Error responses: problem+json for the worker and git, errors of the Messages API for the agent."""

import json
from http import HTTPStatus

from aiohttp import web
from aiohttp.typedefs import Handler
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from omoi_os.audit.trail import refused
from omoi_os.errors import DatabaseUnavailable, DiskFull, Forbidden, NotFound, OmoiError, TooLarge
from omoi_os.gateway.callers import CALLING_SANDBOX
from omoi_os.gateway.context import PARTS
from omoi_os.system import disk

#: Prevents the agent's CLI from retrying the request.
FINAL = {"x-should-retry": "false"}

_MODEL_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "invalid_request_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def is_model_path(path: str) -> bool:
    """Return whether an agent's CLI is calling, which reads only errors in its own format."""
    return path.startswith("/v1/") or path == "/v1"


def problem(status: int, detail: str, *, code: str) -> web.Response:
    """Return an RFC 9457 error response."""
    known = HTTPStatus(status)
    body = {
        "type": f"urn:omoi:problem:{code}",
        "title": known.phrase,
        "status": int(status),
        "detail": detail,
        "code": code,
    }
    headers = {"Retry-After": "1"} if known == HTTPStatus.SERVICE_UNAVAILABLE else {}
    return web.Response(status=status, body=json.dumps(body), content_type="application/problem+json", headers=headers)


def model_error(status: int, message: str, *, error_type: str | None = None) -> web.Response:
    """Return an error response of the Messages API. Statuses below 500 are final: a retry would fail too."""
    body = {
        "type": "error",
        "error": {"type": error_type or _MODEL_ERRORS.get(status, "api_error"), "message": message},
    }
    return web.json_response(body, status=status, headers=FINAL if status < 500 else {})


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn exceptions of handlers into error responses."""
    try:
        return await handler(request)
    except OmoiError as error:
        await _record(request, error)
        return _answer(request, error)
    except web.HTTPRequestEntityTooLarge:
        return _answer(request, TooLarge("the body is too large"))
    except web.HTTPMethodNotAllowed:
        return _answer(request, Forbidden(f"a sandbox may not {request.method} {request.path}"))
    except web.HTTPNotFound:
        return _answer(request, NotFound(f"the gateway does not serve {request.path}"))
    except (DBAPIError, PoolTimeoutError, OSError) as error:
        if disk.is_disk_full(error):
            return _answer(request, DiskFull("the disk is full; free some space and retry"))
        if isinstance(error, OSError):
            raise
        return _answer(request, DatabaseUnavailable())


async def _record(request: web.Request, error: OmoiError) -> None:
    """Write an audit entry for a call that a known sandbox may not make."""
    if CALLING_SANDBOX in request and error.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN):
        call = f"{request.method} {request.path}"
        await request.app[PARTS].trail.record(refused(request[CALLING_SANDBOX], call, str(error)))


def _answer(request: web.Request, error: OmoiError) -> web.Response:
    if is_model_path(request.path):
        return model_error(error.status, str(error))
    return problem(error.status, str(error), code=error.code)
