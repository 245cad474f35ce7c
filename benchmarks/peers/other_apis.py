"""The peers of ingest: a server that stores nothing, and one that stores events the usual way."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any

import uvicorn
import uvloop
from fastapi import Depends, FastAPI, Header, HTTPException, Request
from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from omoi_os import tables
from omoi_os.db.base import make_engine, make_sessions
from omoi_os.http.wire import Wire
from omoi_os.ids import token_hash, uuid7
from omoi_os.sandboxes.models import Sandbox, SandboxEvent


class Posted(BaseModel):
    """An event."""

    event_type: str
    event_data: dict[str, Any] = {}
    seq: int


def empty() -> ASGIApp:
    """Read the body and answer."""

    async def post(request: Request) -> Response:
        await request.body()
        return Response(b'{"status":"received"}', media_type="application/json")

    return Starlette(routes=[Route("/{rest:path}", post, methods=["POST"])])


def usual(database_url: str) -> ASGIApp:
    """FastAPI and SQLAlchemy as in their tutorials: a session, an object and a commit per request."""
    tables.Base.registry.configure()
    app = FastAPI()
    sessions = make_sessions(make_engine(database_url))

    async def a_session() -> AsyncIterator[AsyncSession]:
        async with sessions() as session:
            yield session

    async def caller(
        session: Annotated[AsyncSession, Depends(a_session)], authorization: Annotated[str, Header()]
    ) -> Sandbox:
        hashed = token_hash(authorization.removeprefix("Bearer "))
        query = select(Sandbox).where(Sandbox.token_hash == hashed).with_for_update()
        sandbox = (await session.execute(query)).scalar_one_or_none()
        if sandbox is None:
            raise HTTPException(401)
        return sandbox

    @app.post("/api/v1/sandboxes/{sandbox_id}/events")
    async def post(
        sandbox_id: str,
        body: Posted,
        sandbox: Annotated[Sandbox, Depends(caller)],
        session: Annotated[AsyncSession, Depends(a_session)],
    ) -> dict[str, Any]:
        now = datetime.now(UTC)
        sandbox.last_seq += 1
        sandbox.acked_seq = body.seq
        sandbox.last_work_at = now
        event = SandboxEvent(
            sandbox_id=sandbox_id,
            seq=sandbox.last_seq,
            event_id=str(uuid7()),
            fence=sandbox.fence,
            posted_seq=body.seq,
            event_type=body.event_type,
            event_data=body.event_data,
            source="agent",
            occurred_at=now,
            created_at=now,
        )
        session.add(event)
        await session.commit()
        await session.refresh(event)
        return {"status": "received", "event_id": event.event_id, "seq": event.seq}

    return app


def main(kind: str, database_url: str) -> None:
    """Serve on a free port, print it, and run until killed."""
    listener = socket.create_server(("127.0.0.1", 0))
    app = empty() if kind == "empty" else usual(database_url)
    config = uvicorn.Config(app, http=Wire, lifespan="off", access_log=False, server_header=False, log_level="warning")
    print(listener.getsockname()[1], flush=True)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main(*sys.argv[1:])
