"""Open the bus that the settings choose."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from omoi_os.bus.base import Bus
from omoi_os.bus.postgres import PostgresBus
from omoi_os.config import Settings


@asynccontextmanager
async def open_bus(settings: Settings, database_url: str) -> AsyncIterator[Bus]:
    """Open Redis if it is configured, else the database. All processes of an installation must use the same bus."""
    if settings.redis_url is None:
        yield PostgresBus(database_url)
        return
    # Import it only if needed: loading it takes a tenth of every start.
    from omoi_os.bus.redis import RedisBus

    bus = RedisBus(settings.redis_url)
    try:
        yield bus
    finally:
        await bus.close()
