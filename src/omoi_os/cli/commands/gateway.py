"""`omoi gateway`: run the gateway on its own."""

import asyncio
from typing import Any

from omoi_os.cli.local.database import prepare
from omoi_os.gateway import server


def run(parameters: dict[str, Any]) -> int:
    """Run until SIGTERM or SIGINT."""
    asyncio.run(server.run(prepare("gateway", parameters)))
    return 0
