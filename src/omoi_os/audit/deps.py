"""The route dependency of the audit trail."""

from typing import Annotated

from fastapi import Depends, Request

from omoi_os.audit.trail import Trail


async def _trail(request: Request) -> Trail:
    trail: Trail = request.app.state.trail
    return trail


AppTrail = Annotated[Trail, Depends(_trail)]
