"""Every error as RFC 9457 `application/problem+json`: one shape, one clear sentence, no internals."""

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
from omoi_os.errors import BadToken, DiskFull, Invalid, NotFound, NotReady, OmoiError, TooLarge
from omoi_os.http.bodies import BadJson
from omoi_os.system import disk

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
#: The longest list of validation errors that is sent back.
MAX_ERRORS = 20


class FieldError(BaseModel):
    """One thing that is wrong with the input."""

    loc: list[str | int] = Field(description="Where: body, query, path or header, then the way to the field.")
    msg: str = Field(description="What is wrong with it.")


class Problem(BaseModel):
    """What every error answers with (RFC 9457)."""

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

    type: str = Field(description="Names the kind of problem.")
    title: str = Field(description="The kind of problem in a few words.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What happened and what to do, in one sentence.")
    code: str = Field(description="The kind of problem, for programs.")
    errors: list[FieldError] | None = Field(None, description="For bad input: each field that is wrong.")


class BodyTooLarge(HTTPException):
    """Raised while a body is being read, where only Starlette's own error passes through untouched."""

    def __init__(self, limit: int) -> None:
        super().__init__(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is larger than the {limit} bytes taken here")


#: The same request may succeed later.
_LATER = (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.INSUFFICIENT_STORAGE)

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
    """The answer for an error."""
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
    if status in _LATER:
        extra.setdefault("Retry-After", "1")
    return Response(json.dumps(body), status_code=status, media_type=MEDIA_TYPE, headers=extra)


async def _omoi_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, OmoiError)  # noqa: S101  registered for this class only
    return problem(error.status, str(error), code=error.code)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  registered for this class only
    status, detail = error.status_code, str(error.detail)
    if status == HTTPStatus.NOT_FOUND:
        detail = f"there is nothing at {request.url.path}; /docs lists what there is"
    elif status == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = _allowed(request)
        detail = f"{request.method} is not possible on {request.url.path}, only {allowed}"
        return problem(status, detail, headers={"Allow": allowed})
    elif status == HTTPStatus.BAD_REQUEST:
        status, detail = HTTPStatus.UNPROCESSABLE_ENTITY, "the body could not be read"
    return problem(status, detail, headers=error.headers)


def _allowed(request: Request) -> str:
    """Return the methods that are possible at a path, over all of its routes; Starlette names those of one."""
    found: set[str] = set()
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found |= getattr(route, "methods", None) or set()
    return ", ".join(sorted(found)) or "GET, HEAD"


async def _validation_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101  registered for this class only
    found = error.errors()
    errors = [{"loc": list(item["loc"]), "msg": _message(item)} for item in found[:MAX_ERRORS]]
    first = errors[0]
    place = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{place}: {first['msg']}{more}", errors=errors)


#: What the validator calls a body that is no JSON object, or that is not there.
_NO_OBJECT = frozenset({"missing", "model_type", "model_attributes_type"})


def _message(item: Mapping[str, Any]) -> str:
    """The validator's sentence, without the input: that may be large, hostile or secret."""
    if isinstance(item.get("input"), BadJson):
        return f"not valid JSON: {item['input'].reason}"
    if item["type"] in _NO_OBJECT and tuple(item["loc"]) == ("body",):
        return "must be a JSON object, sent with Content-Type: application/json"
    return str(item["msg"]).removeprefix("Value error, ")


async def _database_away(request: Request, error: Exception) -> Response:
    if full := _full_disk(request, error):
        return full
    return problem(HTTPStatus.SERVICE_UNAVAILABLE, "the database does not answer; try again in a moment")


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
    """Return the answer if a full disk is the reason. A database that does not answer does not say so itself."""
    settings: Settings = request.app.state.settings
    found = disk.space(settings.data_dir, min_free_gb=settings.min_free_gb)
    if not found.is_full and not disk.is_disk_full(error):
        return None
    sentence = found.describe() if found.is_full else "the database's disk is full: free space there, then try again"
    log.error("%s", sentence)
    return problem(DiskFull.status, sentence, code=DiskFull.code)


async def _unstorable(_request: Request, _error: Exception) -> Response:
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "a value holds characters or numbers that cannot be stored")


async def unexpected(_request: Request, _error: Exception) -> Response:
    """The answer for an error that nobody knows."""
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "something went wrong here; the server's log says what")


def install(app: FastAPI) -> None:
    """Answer every error with a problem."""
    app.add_exception_handler(OmoiError, _omoi_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(DBAPIError, _database_error)
    for away in (OperationalError, InterfaceError, PoolTimeoutError, ConnectionError):
        app.add_exception_handler(away, _database_away)
    app.add_exception_handler(OSError, _system_error)
    app.add_exception_handler(DataError, _unstorable)
    app.add_exception_handler(Exception, unexpected)


async def answer_for(app: FastAPI, error: Exception) -> Response:
    """The answer for an error outside of FastAPI's routes; one that only the last handler knows is raised again."""
    for kind in type(error).__mro__:
        if kind is not Exception and (handle := app.exception_handlers.get(kind)):
            answer: Response = await handle(Request({"type": "http", "app": app}), error)  # type: ignore[misc]
            return answer
    raise error


_MEANING = {
    401: "No token, or one that is not known.",
    403: "Not yours to do.",
    404: "Not there, or not visible to you.",
    409: "The thing is in a state that does not allow this.",
    413: "The body is too large.",
    415: "The body's encoding is not taken.",
    422: "Bad input.",
    429: "A limit is reached; `Retry-After` says when to come back.",
    503: "Something this depends on does not answer.",
    507: "A disk of the installation is full, or a storage quota is used up.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error answers of a route, for OpenAPI."""
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {status: {"description": _MEANING[status], "content": {MEDIA_TYPE: schema}} for status in statuses}
