"""`omoi sign-in`: print a single-use sign-in link."""

import asyncio
from typing import Any

from omoi_os.accounts import sessions
from omoi_os.cli.local.database import connected
from omoi_os.config import Settings, load_settings
from omoi_os.db import embedded
from omoi_os.db.base import make_engine, make_sessions
from omoi_os.db.clock import Clock
from omoi_os.db.migrate import answering


def run(parameters: dict[str, Any]) -> int:
    """Print the link."""
    print(asyncio.run(link(connected(load_settings(**parameters)))))
    return 0


async def link(settings: Settings) -> str:
    """Return a new sign-in link. Raises `SetupError` when the database does not answer."""
    engine = make_engine(settings.database_url or embedded.url(settings.data_dir), pool_size=1)
    try:
        with answering():
            async with make_sessions(engine).begin() as session:
                clock = Clock()
                await clock.read(session)
                base_url = settings.public_url or settings.effective_api_url
                return await sessions.make_admin_link(session, base_url=base_url, now=clock.now())
    finally:
        await engine.dispose()
