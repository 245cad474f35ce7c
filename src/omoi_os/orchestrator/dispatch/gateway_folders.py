"""The folder of a sandbox's gateway socket, which is bound into the sandbox."""

import shutil
from pathlib import Path

from omoi_os.config import Settings


def make_gateway_folder(settings: Settings, sandbox_id: str) -> Path:
    """Make the folder before the sandbox. Its own uid has to enter it; the data folder above lets nobody else in."""
    folder = settings.gateway_sockets_dir / sandbox_id
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    return folder


def remove_gateway_folder(settings: Settings, sandbox_id: str) -> None:
    """Remove the folder of a sandbox that no row knows, so that no gateway would."""
    shutil.rmtree(settings.gateway_sockets_dir / sandbox_id, ignore_errors=True)
