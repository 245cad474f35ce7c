"""Database and log of a component that runs on its own."""

import asyncio
import logging
import sys
from typing import Any

from omoi_os.cli.output.log_lines import Lines
from omoi_os.config import Settings, load_settings
from omoi_os.db import embedded
from omoi_os.db.migrate import answering, upgrade
from omoi_os.errors import SetupError
from omoi_os.system import open_files

log = logging.getLogger(__name__)


def prepare(name: str, parameters: dict[str, Any]) -> Settings:
    """Load the settings, configure the log and migrate the database. Raises `ConfigError` or `SetupError`."""
    is_current = parameters.pop("no_migrate", False)
    settings = connected(load_settings(**parameters))
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines(f"%(asctime)s {name} %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler])
    logging.getLogger("omoi_os").setLevel(logging.INFO)
    if warning := open_files.raise_limit():
        log.warning("%s", warning)
    if not is_current and settings.database_url is not None:
        asyncio.run(migrate(settings.database_url))
    return settings


def connected(settings: Settings) -> Settings:
    """Return the settings with a database URL: the configured one, or the embedded server of `omoi serve`.

    Raises `SetupError` when there is neither.
    """
    if settings.database_url is not None:
        return settings
    if not embedded.running(settings.data_dir):
        raise SetupError(
            f"there is no database: DATABASE_URL is not set and no embedded server runs in {settings.data_dir}; "
            "run `omoi serve`, which starts one, or set DATABASE_URL to a PostgreSQL server"
        )
    return settings.model_copy(update={"database_url": embedded.url(settings.data_dir)})


async def migrate(database_url: str) -> None:
    """Migrate the schema. Raises `SetupError` when the server does not answer or refuses the connection."""
    with answering():
        await upgrade(database_url)
