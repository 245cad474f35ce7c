"""A transaction that delays the stream is named to people."""

import logging
from datetime import UTC, datetime

import psycopg
import pytest

from omoi_os.db.base import Sessions, plain_url
from omoi_os.health import warnings
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.upkeep.long_transactions import report_long_transactions
from tests.orchestrator.conftest import MakeContext


async def _messages(sessions: Sessions) -> list[str]:
    async with sessions() as session:
        return [warning.message for warning in await warnings.current(session, now=datetime.now(UTC))]


async def _check(context: Context, *, long_seconds: float = 0) -> None:
    context.timers.forget("transactions")
    await report_long_transactions(context, long_seconds=long_seconds)


async def test_a_long_transaction_is_reported_once_in_the_log_and_withdrawn_when_it_ends(
    sessions: Sessions, database_url: str, make_context: MakeContext, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "omoi_os.orchestrator.upkeep.long_transactions")
    context = make_context()
    with psycopg.connect(plain_url(database_url), application_name="nightly export") as connection:
        connection.execute("SELECT pg_current_xact_id()")
        await _check(context, long_seconds=600)
        assert await _messages(sessions) == []
        await _check(context)
        await _check(context)
        [message] = await _messages(sessions)
        assert "nightly export" in message
        assert f"pid {connection.info.backend_pid}" in message
        assert len(caplog.records) == 1
    await _check(context)
    assert await _messages(sessions) == []
