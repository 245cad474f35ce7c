"""Turns every error into RFC 9457 `application/problem+json`: one shape, one clear sentence, no internals."""

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.exc import DataError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from omoi_os.config import Settings
from omoi_os.errors import BadToken, DatabaseUnavailable, DiskFull, Invalid, NotFound, NotReady, OmoiError, TooLarge
from omoi_os.http.bodies import BadJson
from omoi_os.http.sentences import explain, place_of
from omoi_os.system import disk

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
#: The longest list of validation errors that is sent back.
MAX_ERRORS = 20


class FieldError(BaseModel):
    """One error in the input."""

    loc: list[str | int] = Field(
        description="Location of the error: `body`, `query`, `path` or `header`, then the path to the field."
    )
    msg: str = Field(description="What is wrong with the field and which values are allowed.")


class Problem(BaseModel):
    """The body of every error response (RFC 9457)."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "type": "urn:omoi:problem:not_found",
                "title": "Not Found",
                "status": 404,
                "detail": "there is no project 01890a5d-ac96-774b-bcce-b302099a8057",
                "code": "not_found",
            }
        }
    )

    type: str = Field(description="URN of the problem type, such as `urn:omoi:problem:not_found`.")
    title: str = Field(description="Short name of the HTTP status, the same for every problem with this status.")
    status: int = Field(description="HTTP status code of the response.")
    detail: str = Field(description="One sentence for people: what happened, to which thing, and what to do next.")
    code: str = Field(description="Problem type for programs, such as `not_found` or `stale_fence`.")
    errors: list[FieldError] | None = Field(
        None, description="For invalid input: one entry for each field that was refused."
    )


class BodyTooLarge(HTTPException):
    """Raised while a body is being read. FastAPI wraps every other error that is raised there."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is larger than the limit of {limit} bytes for this request"
        )


#: Statuses after which the same request may succeed later.
_RETRYABLE = (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.INSUFFICIENT_STORAGE)

_CODES = {error.status: error.code for error in (BadToken, NotFound, TooLarge, Invalid, NotReady)} | {
    HTTPStatus.METHOD_NOT_ALLOWED: "method_not_allowed",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "unsupported_media_type",
    HTTPStatus.INTERNAL_SERVER_ERROR: OmoiError.code,
}


def problem(
    status: int,
    detail: str,
    *,
    code: str | None = None,
    errors: Sequence[Mapping[str, Any]] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the response for an error."""
    known = HTTPStatus(status)
    code = code or _CODES.get(known, "bad_request")
    body: dict[str, Any] = {
        "type": f"urn:omoi:problem:{code}",
        "title": known.phrase,
        "status": int(status),
        "detail": detail,
        "code": code,
    }
    if errors is not None:
        body["errors"] = list(errors)
    extra = dict(headers or {})
    if status == HTTPStatus.UNAUTHORIZED:
        extra.setdefault("WWW-Authenticate", "Bearer")
    if status in _RETRYABLE:
        extra.setdefault("Retry-After", "1")
    return Response(json.dumps(body), status_code=status, media_type=MEDIA_TYPE, headers=extra)


async def _omoi_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, OmoiError)  # noqa: S101  registered for this class only
    return problem(error.status, str(error), code=error.code)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  registered for this class only
    status, detail = error.status_code, str(error.detail)
    if status == HTTPStatus.NOT_FOUND:
        detail = f"there is no resource at {request.url.path}; /docs lists the paths of the API"
    elif status == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = _allowed(request)
        detail = f"{request.method} is not supported by {request.url.path}; use {allowed}"
        return problem(status, detail, headers={"Allow": allowed})
    elif status == HTTPStatus.BAD_REQUEST:
        status, detail = HTTPStatus.UNPROCESSABLE_ENTITY, "the body could not be read"
    return problem(status, detail, headers=error.headers)


def _allowed(request: Request) -> str:
    """Return the methods of all routes at a path; Starlette names those of only one route."""
    found: set[str] = set()
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found |= getattr(route, "methods", None) or set()
    return ", ".join(sorted(found)) or "GET, HEAD"


async def _validation_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101  registered for this class only
    found = error.errors()
    errors = [{"loc": list(item["loc"]), "msg": _message(item)} for item in found[:MAX_ERRORS]]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{_sentence(found[0])}{more}", errors=errors)


_BODY = ("body",)
#: The types of error for a body that is missing or not an object.
_NO_OBJECT = frozenset({"missing", "model_type", "model_attributes_type"})


def _sentence(item: Mapping[str, Any]) -> str:
    """Return one error with the name of its field; errors of the body as a whole name no field."""
    if tuple(item["loc"]) != _BODY:
        return f"{place_of(item['loc'])}: {_message(item)}"
    return _message(item) if item["type"] == "value_error" else f"the body {_message(item)}"


def _message(item: Mapping[str, Any]) -> str:
    if isinstance(item.get("input"), BadJson):
        return f"is not valid JSON: {item['input'].reason}"
    if item["type"] in _NO_OBJECT and tuple(item["loc"]) == _BODY:
        return "must be a JSON object, sent with Content-Type: application/json"
    return explain(item)


async def _database_unavailable(request: Request, error: Exception) -> Response:
    if full := _full_disk(request, error):
        return full
    return problem(HTTPStatus.SERVICE_UNAVAILABLE, str(DatabaseUnavailable()))


async def _database_error(request: Request, error: Exception) -> Response:
    if full := _full_disk(request, error):
        return full
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return problem(HTTPStatus.SERVICE_UNAVAILABLE, "the database connection was lost; try again in a moment")
    raise error


async def _system_error(request: Request, error: Exception) -> Response:
    if full := _full_disk(request, error):
        return full
    raise error


def _full_disk(request: Request, error: Exception) -> Response | None:
    """Return the response if a full disk is the reason, which a database that is not available cannot report."""
    settings: Settings = request.app.state.settings
    found = disk.space(settings.data_dir, min_free_gb=settings.min_free_gb)
    if not found.is_full and not disk.is_disk_full(error):
        return None
    sentence = found.describe() if found.is_full else "the database's disk is full: free space there, then try again"
    log.error("%s", sentence)
    return problem(DiskFull.status, sentence, code=DiskFull.code)


async def _unstorable(_request: Request, _error: Exception) -> Response:
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "a value contains characters or numbers that cannot be stored")


async def unexpected(_request: Request, _error: Exception) -> Response:
    """Return the response for an error without a handler."""
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "the server failed to handle this request; see the server's log")


def install(app: FastAPI) -> None:
    """Register handlers that turn every error into a problem."""
    app.add_exception_handler(OmoiError, _omoi_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(DBAPIError, _database_error)
    for unavailable in (OperationalError, InterfaceError, PoolTimeoutError, ConnectionError):
        app.add_exception_handler(unavailable, _database_unavailable)
    app.add_exception_handler(OSError, _system_error)
    app.add_exception_handler(DataError, _unstorable)
    app.add_exception_handler(Exception, unexpected)


async def answer_for(app: FastAPI, error: Exception) -> Response:
    """Return the response for an error outside of FastAPI's routes; raise it again if it has no handler."""
    for kind in type(error).__mro__:
        if kind is not Exception and (handle := app.exception_handlers.get(kind)):
            answer: Response = await handle(Request({"type": "http", "app": app}), error)  # type: ignore[misc]
            return answer
    raise error


_MEANING = {
    401: "The token is missing, unknown, expired or revoked.",
    403: "You are not allowed to do this.",
    404: "The resource does not exist or is not visible to you.",
    409: "The resource is in a state that does not allow this.",
    413: "The body is too large.",
    415: "The body has a `Content-Encoding`; send it unencoded.",
    422: "The input is invalid; `errors` lists the fields.",
    429: "A limit is reached; retry after the number of seconds in `Retry-After`.",
    503: "The database, or another service that this depends on, is not available.",
    507: "A disk of the installation is full, or a storage quota is used up.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the error responses of a route for OpenAPI."""
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {status: {"description": _MEANING[status], "content": {MEDIA_TYPE: schema}} for status in statuses}
