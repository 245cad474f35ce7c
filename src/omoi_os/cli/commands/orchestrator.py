"""`omoi orchestrator`: run an orchestrator on its own, or check a running one."""

import asyncio
from typing import Any

from omoi_os.cli.local.database import prepare
from omoi_os.config import load_settings
from omoi_os.orchestrator import main, own_health


def run(parameters: dict[str, Any]) -> int:
    """Run until SIGTERM or SIGINT. With `--check`, report the health of the orchestrator of this data folder."""
    if parameters.pop("check", False):
        parameters.pop("no_migrate", None)
        complaints = own_health.check(load_settings(**parameters).data_dir)
        print("\n".join(complaints) or "the orchestrator is healthy")
        return 1 if complaints else 0
    asyncio.run(main.run(prepare("orchestrator", parameters)))
    return 0
