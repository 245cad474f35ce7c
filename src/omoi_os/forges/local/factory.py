"""Creates the local forge from the settings."""

from omoi_os.config import Settings
from omoi_os.forges.local.forge import LocalForge
from omoi_os.forges.mirrors import Mirrors


def make_forge(settings: Settings) -> LocalForge:
    """Return the forge whose repositories are in the data folder."""
    return LocalForge(settings.repositories_dir)


def make_mirrors(settings: Settings) -> Mirrors:
    """Return the same repositories: they are on this machine, so each is its own mirror."""
    return Mirrors(settings.repositories_dir)
