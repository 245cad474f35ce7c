"""A connection that tracks which of our statements are prepared on the server."""

from typing import Any

import psycopg
from psycopg import pq


class Connection(psycopg.AsyncConnection[tuple[Any, ...]]):
    """The driver's connection, tracking that its rollback deallocates every prepared statement."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        #: The names of our statements that are prepared.
        self.prepared: set[str] = set()

    async def rollback(self) -> None:
        """Roll back to the start of any pending transaction."""
        if self.pgconn.transaction_status != pq.TransactionStatus.IDLE:
            self.prepared.clear()
        await super().rollback()
