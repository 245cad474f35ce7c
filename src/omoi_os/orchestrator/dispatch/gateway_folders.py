"""The folders with the sandboxes' gateway sockets, one for each sandbox, mounted into it."""

import shutil
from pathlib import Path

from omoi_os.config import Settings


def make_gateway_folder(settings: Settings, sandbox_id: str) -> Path:
    """Create the folder before the sandbox.

    The sandbox's own uid has to enter it, so it is open to others; the data folder above it is not.
    """
    folder = settings.gateway_sockets_dir / sandbox_id
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    return folder


def remove_gateway_folder(settings: Settings, sandbox_id: str) -> None:
    """Remove the folder of a sandbox that has no row; the gateway removes those of sandboxes that have one."""
    shutil.rmtree(settings.gateway_sockets_dir / sandbox_id, ignore_errors=True)
