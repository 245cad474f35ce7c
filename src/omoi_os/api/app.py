"""The HTTP application: knows every part and is known by none."""

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from omoi_os.accounts import routes as users
from omoi_os.api import docs, errors, health, idempotency, metrics, stream
from omoi_os.api.limits import BodyLimits
from omoi_os.bus.base import Bus
from omoi_os.config import Settings
from omoi_os.db.base import Sessions
from omoi_os.projects import routes as projects
from omoi_os.sandboxes import event_routes as events
from omoi_os.sandboxes import message_routes as messages
from omoi_os.sandboxes import outcome_routes as outcomes
from omoi_os.sandboxes import routes as sandboxes
from omoi_os.sandboxes import worker_routes as workers
from omoi_os.sandboxes.masking import Masker
from omoi_os.sandboxes.waiters import Waiters
from omoi_os.stream.hub import Hub
from omoi_os.tasks import routes as tasks
from omoi_os.tickets import routes as tickets

TITLE = "OmoiOS"
DESCRIPTION = """Runs coding agents in isolated sandboxes and turns tickets into verified branches.

Send `Authorization: Bearer …` with a user's API key. Errors are `application/problem+json` (RFC 9457).
Lists are paged: pass `next_cursor` as `cursor` for the next page. Creations take an `Idempotency-Key`.
What you may not see answers 404."""


class _Api(FastAPI):
    """The application with a shorter way for events, which come more often than anything else."""

    doors: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if events.is_door(scope):
            scope["app"] = self
            await self.doors(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def make_app(settings: Settings, sessions: Sessions, bus: Bus) -> FastAPI:
    """The API over a migrated database."""
    app = _Api(
        title=TITLE,
        description=DESCRIPTION,
        version=version("omoi-os"),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_name,
    )
    app.state.settings, app.state.sessions, app.state.bus = settings, sessions, bus
    app.state.hub = Hub(sessions, bus)
    app.state.masker = Masker([settings.anthropic_api_key, settings.github_token, settings.admin_token])
    app.state.waiters = Waiters(bus)
    doors = events.EventDoors(events.make_intake(sessions, bus, app.state.masker))
    app.doors = ServerErrorMiddleware(doors, handler=errors.unexpected)
    app.add_middleware(BodyLimits)
    errors.install(app)
    app.add_exception_handler(idempotency.Replay, idempotency.replay)
    api = APIRouter(prefix="/api/v1")
    for part in (events, projects, tickets, tasks, sandboxes, outcomes, workers, messages, stream, users):
        api.include_router(part.router)
    for router in (health.router, metrics.router, docs.router, api):
        app.include_router(router)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _name(route: APIRoute) -> str:
    return route.name


def _openapi(app: FastAPI) -> dict[str, Any]:
    """FastAPI's description plus the shape of problems, which routes refer to."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        problem = errors.Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schema["components"]["schemas"] |= {**problem.pop("$defs"), "Problem": problem}
        app.openapi_schema = schema
    return app.openapi_schema
