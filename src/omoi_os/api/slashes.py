"""Redirects a path with a trailing slash to the path without it."""

from collections.abc import Sequence

from starlette.responses import RedirectResponse
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

#: Keeps the method and the body, and is not cached.
TEMPORARY_REDIRECT = 307


class TrailingSlashes:
    """Handles requests that no route has matched; those without a redirect go to `otherwise`."""

    def __init__(self, otherwise: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        self._otherwise, self._routes = otherwise, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Redirect, or pass the request on."""
        # An encoded slash at the end is part of a parameter.
        if scope["type"] == "http" and scope["raw_path"].endswith(b"/") and self._has_route(scope):
            await RedirectResponse(_without_slash(scope), status_code=TEMPORARY_REDIRECT)(scope, receive, send)
        else:
            await self._otherwise(scope, receive, send)

    def _has_route(self, scope: Scope) -> bool:
        shorter = {**scope, "path": scope["path"].rstrip("/")}
        return any(route.matches(shorter)[0] is not Match.NONE for route in self._routes)


def _without_slash(scope: Scope) -> str:
    """Return the path and query. It has no host, so the client stays on the one it used."""
    query = scope.get("query_string", b"").decode("latin-1")
    path: str = scope["raw_path"].rstrip(b"/").decode("latin-1")
    return path + (f"?{query}" if query else "")
