"""The routers of the API's parts."""

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
    """A router whose routes may all answer with these problems.

    A route is whole as it is declared: the application lists it. FastAPI's way of including a router makes each
    route a second time and looks for it once more at every level, on every request.
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
