"""A connection that knows which of our statements the server holds prepared for it."""

from typing import Any

import psycopg
from psycopg import pq


class Connection(psycopg.AsyncConnection[tuple[Any, ...]]):
    """The driver's own, whose rollback takes every prepared statement along: it has the server forget them all."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        #: The names of ours that can be used as they are.
        self.prepared: set[str] = set()

    async def rollback(self) -> None:
        """Roll back to the start of any pending transaction."""
        if self.pgconn.transaction_status != pq.TransactionStatus.IDLE:
            self.prepared.clear()
        await super().rollback()
