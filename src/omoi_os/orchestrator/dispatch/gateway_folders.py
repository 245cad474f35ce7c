"""A sandbox's door: the folder that is bound in, where the gateway opens its socket."""

import shutil
from pathlib import Path

from omoi_os.config import Settings


def make_door(settings: Settings, sandbox_id: str) -> Path:
    """Make the folder before the sandbox. Its own uid has to enter it; the data folder above lets nobody else in."""
    door = settings.doors_dir / sandbox_id
    door.mkdir(parents=True, exist_ok=True)
    door.chmod(0o755)
    return door


def remove_door(settings: Settings, sandbox_id: str) -> None:
    """Remove the folder of a sandbox that no row knows, so that no gateway would."""
    shutil.rmtree(settings.doors_dir / sandbox_id, ignore_errors=True)
