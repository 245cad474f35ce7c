"""`omoi orchestrator`: an orchestrator by itself."""

import asyncio
from typing import Any

from omoi_os.cli.database import prepare
from omoi_os.orchestrator import main


def run(parameters: dict[str, Any]) -> int:
    """Run until SIGTERM or SIGINT."""
    asyncio.run(main.run(prepare("orchestrator", parameters)))
    return 0
