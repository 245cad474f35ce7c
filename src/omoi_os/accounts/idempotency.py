"""`Idempotency-Key`: a repeated creation happens once and gets the same response."""

import hashlib
import json
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Header, Request
from pydantic import BaseModel
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from omoi_os.accounts.deps import CurrentUser
from omoi_os.accounts.models import IdempotentRequest, User
from omoi_os.errors import Conflict, Invalid
from omoi_os.http.bodies import BadJson
from omoi_os.http.deps import DbSession

M = TypeVar("M", bound=BaseModel)

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[\x20-\x7e]+$",
        description="A key of your choice. Repeating a request with the same key and body returns the first response.",
    ),
]


class Replay(Exception):
    """Raised for a request that was answered before."""

    def __init__(self, status_code: int, body: str) -> None:
        super().__init__(status_code)
        self.status_code, self.body = status_code, body


async def replay(_request: Request, error: Exception) -> Response:
    """Return the first response again."""
    assert isinstance(error, Replay)  # noqa: S101  registered for this class only
    headers = {"Idempotent-Replayed": "true"}
    return Response(error.body, status_code=error.status_code, media_type="application/json", headers=headers)


@dataclass(frozen=True, slots=True)
class Once:
    """The stored request with this key; None for a request without a key."""

    session: AsyncSession
    row: IdempotentRequest | None

    def answer(self, model: M, *, status: int = 201) -> M:
        """Store the response for repeated requests, in the same transaction as the creation."""
        if self.row is not None:
            self.row.status_code, self.row.body = status, model.model_dump_json()
        return model


async def once(request: Request, user: CurrentUser, session: DbSession, key: Key = None) -> Once:
    """Claim the key, or raise `Replay`. A concurrent request with the same key waits for the first to commit."""
    body = await request.json() if key is not None else None
    if isinstance(body, BadJson):
        return Once(session, None)
    return await claim(request, user, session, key, body)


async def claim(request: Request, user: User, session: AsyncSession, key: str | None, body: Any) -> Once:
    """Claim the key for a body, of which a hash is stored: leave out a secret that could be guessed from its hash.

    Raise `Replay` for a repeated request.
    """
    if key is None:
        return Once(session, None)
    fingerprint = _fingerprint(request, body)
    values = {"user_id": user.id, "key": key, "fingerprint": fingerprint}
    taken = await session.execute(
        insert(IdempotentRequest).values(values).on_conflict_do_nothing().returning(IdempotentRequest.key)
    )
    is_first = taken.scalar_one_or_none() is not None
    row = await session.get_one(IdempotentRequest, (user.id, key))
    if is_first:
        return Once(session, row)
    raise _again(row, fingerprint)


def _again(row: IdempotentRequest, fingerprint: str) -> Exception:
    if row.fingerprint != fingerprint:
        return Invalid(f"Idempotency-Key: {row.key!r} was used for a different request; choose a new key")
    if row.status_code is None or row.body is None:
        return Conflict(
            f"Idempotency-Key: {row.key!r} was answered with a secret that is not shown again; "
            "use another key to create a new one"
        )
    return Replay(row.status_code, row.body)


def _fingerprint(request: Request, body: Any) -> str:
    canonical = json.dumps([request.method, request.url.path, body], sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


OnlyOnce = Annotated[Once, Depends(once)]
