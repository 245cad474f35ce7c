"""The claiming process of the bare queue."""

import asyncio
import sys

import psycopg

_CLAIM = """
    UPDATE queue SET status = 'claimed'
    WHERE id = (SELECT id FROM queue WHERE status = 'queued' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING pg_notify('claimed', id::text)
"""


async def run(conninfo: str) -> None:
    """Claim rows as they are added, until killed."""
    connect = psycopg.AsyncConnection.connect
    async with await connect(conninfo, autocommit=True) as hands, await connect(conninfo, autocommit=True) as ears:
        await ears.execute("LISTEN queued")
        print("ready", flush=True)
        async for _ in ears.notifies():
            while (await hands.execute(_CLAIM)).rowcount:
                continue


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1]))
