"""`omoi api`: run the API on its own."""

from typing import Any

from omoi_os.api.server import serve
from omoi_os.cli.local.database import prepare


def run(parameters: dict[str, Any]) -> int:
    """Run until SIGTERM or SIGINT."""
    serve(prepare("api", parameters))
    return 0
