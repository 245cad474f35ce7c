"""Which bus the settings choose."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from omoi_os.bus.base import Bus
from omoi_os.bus.postgres import PostgresBus
from omoi_os.config import Settings


@asynccontextmanager
async def open_bus(settings: Settings, database_url: str) -> AsyncIterator[Bus]:
    """Redis if it is set, else the database itself. Every process of an installation has to choose alike."""
    if settings.redis_url is None:
        yield PostgresBus(database_url)
        return
    # Loading it takes a tenth of every start, and few have a Redis.
    from omoi_os.bus.redis import RedisBus

    bus = RedisBus(settings.redis_url)
    try:
        yield bus
    finally:
        await bus.close()
