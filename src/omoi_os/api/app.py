"""The HTTP application: imports every part and is imported by none."""

from importlib.metadata import version

from fastapi import FastAPI
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from omoi_os.accounts import idempotency
from omoi_os.accounts import key_routes as keys
from omoi_os.accounts import routes as users
from omoi_os.accounts import session_routes as auth
from omoi_os.accounts.key_uses import KeyUses
from omoi_os.api import audit_routes as audit
from omoi_os.api import description, docs, health, metrics
from omoi_os.api.git.callers import Callers
from omoi_os.api.git.server import GitServer
from omoi_os.api.guard import Guard
from omoi_os.api.slashes import TrailingSlashes
from omoi_os.api.stream import routes as stream
from omoi_os.api.stream.access import recheck
from omoi_os.audit.trail import Trail
from omoi_os.bus.base import Bus
from omoi_os.config import Settings
from omoi_os.credentials import routes as credentials
from omoi_os.credentials.encryption import Keyring
from omoi_os.credentials.masks import CredentialMasks
from omoi_os.db.base import Sessions
from omoi_os.db.clock import Clock
from omoi_os.health.api_warnings import Attendance
from omoi_os.health.provider_availability import Availability
from omoi_os.http import problems as errors
from omoi_os.http.downloads import Downloads
from omoi_os.http.limits import BodyLimits
from omoi_os.http.uploads import Uploads
from omoi_os.masking import Masker
from omoi_os.monitoring import routes as monitoring
from omoi_os.projects import routes as projects
from omoi_os.projects.members import routes as members
from omoi_os.sandboxes import routes as sandboxes
from omoi_os.sandboxes import worker_routes as workers
from omoi_os.sandboxes.artifacts import routes as artifacts
from omoi_os.sandboxes.deps import sandbox_of_token
from omoi_os.sandboxes.ingest import routes as events
from omoi_os.sandboxes.messages import routes as messages
from omoi_os.sandboxes.messages.waiters import Waiters
from omoi_os.stream.hub import Hub
from omoi_os.tasks import routes as tasks
from omoi_os.tickets import routes as tickets
from omoi_os.web.pages import Pages

TITLE = "OmoiOS"
DESCRIPTION = """OmoiOS runs coding agents in isolated sandboxes and turns tickets into verified branches.

- **Authentication**: send `Authorization: Bearer …` with an API key. A signed-in browser sends its session cookie.
- **Errors** are `application/problem+json` (RFC 9457). A resource that you may not see is answered with 404.
- **Lists** are paged: pass `next_cursor` as `cursor` to get the next page.
- **Creations** accept an `Idempotency-Key`: a repeated request returns the first response.
- **Enums** are accepted in any case and returned in the case that is listed here.
"""


class _Api(FastAPI):
    """The application, with a fast path for posted events, the most frequent requests."""

    event_routes: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass posted events to their own routes, and everything else to FastAPI."""
        if events.is_event_post(scope):
            scope["app"] = self
            await self.event_routes(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def make_app(settings: Settings, sessions: Sessions, bus: Bus) -> FastAPI:
    """Return the API over a migrated database."""
    app = _Api(
        title=TITLE,
        description=DESCRIPTION,
        version=version("omoi-os"),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.settings, app.state.sessions, app.state.bus = settings, sessions, bus
    app.state.clock = Clock()
    app.state.hub = Hub(sessions, bus, recheck=recheck, each=settings.stream_connections)
    app.state.masker = Masker(settings.secrets)
    app.state.keyring = Keyring(settings)
    app.state.credential_masks = CredentialMasks(app.state.masker, sessions, app.state.keyring)
    app.state.waiters = Waiters(bus)
    app.state.sandbox_of_token = sandbox_of_token
    app.state.key_uses = KeyUses(sessions)
    app.state.downloads = Downloads()
    app.state.uploads = Uploads(settings.data_dir / "uploads")
    app.state.trail = Trail(sessions, app.state.masker)
    app.state.availability = Availability(settings)
    app.state.attendance = Attendance(settings)
    parts = (sessions, bus, app.state.masker, app.state.trail, app.state.clock)
    event_routes = events.EventRoutes(events.make_ingest(*parts, max_event_bytes=settings.sandbox_events_mb << 20))
    app.event_routes = ServerErrorMiddleware(event_routes, handler=errors.unexpected)
    app.add_middleware(BodyLimits)
    app.add_middleware(Guard, settings=settings)
    errors.install(app)
    app.add_exception_handler(idempotency.Replay, idempotency.replay)
    for part in (
        health,
        metrics,
        docs,
        events,
        projects,
        members,
        tickets,
        tasks,
        sandboxes,
        artifacts,
        workers,
        messages,
        stream,
        monitoring,
        users,
        auth,
        keys,
        credentials,
        audit,
    ):
        app.router.routes.extend(part.router.routes)
    app.router.routes.extend(auth.page.routes)
    callers = Callers(sessions, app.state.trail, app.state.clock, sandbox_of_token, app.state.key_uses)
    app.router.routes.append(Mount("/git", GitServer(settings, sessions, callers)))
    app.router.default = Pages(TrailingSlashes(app.router.default, app.router.routes))
    app.openapi = lambda: description.of(app)  # type: ignore[method-assign]
    return app
