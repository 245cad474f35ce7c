"""Creates the router of each part of the API."""

from collections.abc import Sequence
from enum import Enum

from fastapi import APIRouter
from fastapi.routing import APIRoute

from omoi_os.http.bodies import StrictRoute
from omoi_os.http.problems import problems

PREFIX = "/api/v1"


def make_router(
    prefix: str, *, tags: Sequence[str | Enum] = (), refusals: Sequence[int] = (), below: str = PREFIX
) -> APIRouter:
    """Return a router whose routes can all answer with the statuses in `refusals`.

    The application lists the routes directly. `include_router` would copy each route and match it once more at every
    level, on every request.
    """
    return APIRouter(
        prefix=below + prefix,
        tags=list(tags),
        route_class=StrictRoute,
        responses=problems(*refusals),
        generate_unique_id_function=_name,
    )


def _name(route: APIRoute) -> str:
    return route.name
