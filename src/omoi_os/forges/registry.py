"""Which forges there are."""

from omoi_os.config import Settings
from omoi_os.errors import ForgeError
from omoi_os.forges.base import Forge
from omoi_os.forges.local.forge import LocalForge

NAMES = ("local",)


def make_forge(name: str, settings: Settings) -> Forge:
    """The forge of that name; `ForgeError` when there is none."""
    if name == LocalForge.name:
        return LocalForge(settings.repositories_dir)
    raise ForgeError(f"there is no forge {name!r}: choose one of {', '.join(NAMES)}")
