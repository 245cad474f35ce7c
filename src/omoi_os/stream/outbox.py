"""Adds changes to the outbox, in the transaction that makes them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, String, Uuid, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from omoi_os.db.at_commit import collect
from omoi_os.stream.models import ORDER, Change

#: Column by column, so that any number of changes takes one statement.
_INSERT = text(
    f"""
    INSERT INTO outbox (xid, change, project_id, sandbox_id, first_seq, last_seq, data)
    SELECT {ORDER}, change, project_id, sandbox_id, first_seq, last_seq, data::json
    FROM unnest(:changes, :project_ids, :sandbox_ids, :first_seqs, :last_seqs, :data)
        WITH ORDINALITY AS new (change, project_id, sandbox_id, first_seq, last_seq, data, place)
    ORDER BY place
    """  # noqa: S608  a constant expression
).bindparams(
    bindparam("changes", type_=ARRAY(String)),
    bindparam("project_ids", type_=ARRAY(Uuid)),
    bindparam("sandbox_ids", type_=ARRAY(String)),
    bindparam("first_seqs", type_=ARRAY(BigInteger)),
    bindparam("last_seqs", type_=ARRAY(BigInteger)),
    bindparam("data", type_=ARRAY(String)),
)

#: One row: change, project, sandbox, first and last number of a run of events, data as JSON.
_Row = tuple[Change, UUID, str | None, int | None, int | None, str | None]


def publish(
    session: AsyncSession, change: Change, data: Mapping[str, Any], *, project_id: UUID, sandbox_id: str | None = None
) -> None:
    """Publish a change to everybody who may see the project, once the session commits. The caller wakes the readers."""
    _add(session, (change, project_id, sandbox_id, None, None, json.dumps(dict(data))))


def publish_events(session: AsyncSession, *, project_id: UUID, sandbox_id: str, first_seq: int, last_seq: int) -> None:
    """Publish a run of a sandbox's events that this transaction adds."""
    _add(session, (Change.SANDBOX_EVENT, project_id, sandbox_id, first_seq, last_seq, None))


def _add(session: AsyncSession, row: _Row) -> None:
    collect("before_commit", session, row, _write)


def _write(session: Session, rows: Sequence[_Row]) -> None:
    names = ("changes", "project_ids", "sandbox_ids", "first_seqs", "last_seqs", "data")
    session.execute(_INSERT, {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})
