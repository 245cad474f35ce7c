"""The audit trail as a dependency of routes."""

from typing import Annotated

from fastapi import Depends, Request

from omoi_os.audit.trail import Trail


async def _trail(request: Request) -> Trail:
    trail: Trail = request.app.state.trail
    return trail


AppTrail = Annotated[Trail, Depends(_trail)]
