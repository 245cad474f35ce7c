"""Reads request bodies strictly. A caller that is not allowed to send one gets 401 or 403 before any body error."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from omoi_os.strict_json import parse
from omoi_os.system.off_loop import LARGE, off_loop


@dataclass(frozen=True, slots=True)
class BadJson:
    """Stands for a body that is not JSON until it is validated, after the dependencies have checked the caller."""

    reason: str


# Pydantic reads a model's fields from the attributes of any object except for built-in types, so a `BadJson` would pass
# as an object that leaves out every optional field.
BadJson.__module__ = "builtins"


class StrictRequest(Request):
    """A request whose JSON is read strictly."""

    async def json(self) -> Any:
        """Return the body, or `BadJson`, which no schema accepts."""
        if not hasattr(self, "_strict"):
            body = await self.body()
            try:
                self._strict = await off_loop(parse, body) if len(body) > LARGE else parse(body)
            except ValueError as error:
                self._strict = BadJson(str(error))
        return self._strict


class StrictRoute(APIRoute):
    """A route that reads its body strictly."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """Return FastAPI's own handler, called with a strict request."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return handle_strictly
