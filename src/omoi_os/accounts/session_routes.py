"""Signs browsers in and out, and shows the calling user."""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse

from omoi_os.accounts import service, sessions
from omoi_os.accounts.auth import Identity, session_cookie
from omoi_os.accounts.deps import CurrentIdentity
from omoi_os.accounts.schemas import MeOut
from omoi_os.accounts.sessions import LinkRefused
from omoi_os.config import Settings
from omoi_os.errors import Conflict
from omoi_os.http.deps import AppBus, AppSettings, DbSession, Now
from omoi_os.http.notices import notice
from omoi_os.http.problems import problems
from omoi_os.http.routers import make_router
from omoi_os.stream import reader

router = make_router("/auth", tags=["users"], refusals=(401, 403, 422, 503))
#: The sign-in link.
page = APIRouter(include_in_schema=False)

_NEW_LINK = "Run `omoi sign-in` on the server and open the link that it prints."
_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


@page.get("/sign-in")
async def sign_in(
    request: Request,
    session: DbSession,
    settings: AppSettings,
    now: Now,
    code: Annotated[str, Query(max_length=200)] = "",
    next: Annotated[str, Query(max_length=2000)] = "/",  # noqa: A002  the name in the address
) -> Response:
    """Sign this browser in with the code of a link, and redirect to the page."""
    if "prefetch" in request.headers.get("sec-purpose", ""):
        # The link works once, so a prefetch must not use it up.
        return notice(503, "Not signed in", "This sign-in link cannot be prefetched. Open it yourself.")
    try:
        user = await sessions.use_code(session, code, now=now)
    except LinkRefused as error:
        return notice(403, "Not signed in", f"{error} {_NEW_LINK}", link=("/", "Open OmoiOS"))
    token = await sessions.open_session(session, user, now=now)
    answer = RedirectResponse(own_path(next), status_code=303, headers=_HEADERS)
    _set_cookie(answer, request, settings, token)
    return answer


def own_path(wanted: str) -> str:
    """Return a path on this server; `/` for anything that could lead a browser to another one."""
    parts = urlsplit(wanted)
    is_path = wanted.startswith("/") and not wanted.startswith("//") and not parts.scheme and not parts.netloc
    # Browsers treat a backslash as a slash, and ignore tabs and line ends.
    return wanted if is_path and wanted.isprintable() and "\\" not in wanted else "/"


def own_url(request: Request, settings: Settings) -> str:
    """Return the URL of this server for people: the configured one, or else the one of this request."""
    if settings.public_url is not None:
        return settings.public_url
    return str(request.base_url.replace(scheme="https" if _is_https(request) else "http"))


def _set_cookie(answer: Response, request: Request, settings: Settings, token: str) -> None:
    answer.set_cookie(
        session_cookie(settings),
        token,
        max_age=int(sessions.SESSION_LIFE.total_seconds()),
        path="/",
        httponly=True,
        samesite="lax",
        secure=_is_https(request),
    )


def _is_https(request: Request) -> bool:
    """Return whether the browser uses HTTPS, also through a proxy. A forged header affects only its sender."""
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))


@router.get("/me", summary="Show the calling user")
async def get_me(identity: CurrentIdentity, session: DbSession) -> MeOut:
    """Return the user that your API key or session belongs to."""
    return await _me(identity, identity.via, session)


async def _me(identity: Identity, via: Literal["key", "session"], session: AsyncSession) -> MeOut:
    user = identity.user
    position = await reader.now(await session.connection())
    return MeOut(id=user.id, email=user.email, name=user.name, role=user.role, via=via, position=str(position))


@router.post("/session", status_code=201, summary="Sign a browser in with an API key", responses=problems(409))
async def create_session(
    identity: CurrentIdentity,
    request: Request,
    response: Response,
    session: DbSession,
    settings: AppSettings,
    now: Now,
) -> MeOut:
    """Exchange the API key in `Authorization` for a session cookie, which expires no later than the key."""
    if identity.via != "key":
        raise Conflict("this browser is already signed in; sign out first, or send an API key")
    token = await sessions.open_session(session, identity.user, now=now, key=identity.key)
    _set_cookie(response, request, settings, token)
    response.headers["Cache-Control"] = "no-store"
    return await _me(identity, "session", session)


@router.delete("/session", status_code=204, summary="Sign this browser out", responses=problems(409))
async def delete_session(
    identity: CurrentIdentity, session: DbSession, settings: AppSettings, bus: AppBus, now: Now
) -> Response:
    """End the session of this browser's cookie and close its streams."""
    if identity.via != "session":
        raise Conflict("an API key has no session; send the request without Authorization to end the browser's session")
    await service.end_session(session, bus, identity.user.id, identity.id, now=now)
    answer = Response(status_code=204)
    answer.delete_cookie(session_cookie(settings), path="/", httponly=True, samesite="lax")
    return answer
