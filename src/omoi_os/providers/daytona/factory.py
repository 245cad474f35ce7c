"""Creates the daytona provider from the settings."""

from omoi_os.config import Settings
from omoi_os.errors import ConfigError
from omoi_os.providers.base import Runtime
from omoi_os.providers.daytona.params import Account, Source
from omoi_os.providers.daytona.provider import DaytonaProvider
from omoi_os.providers.image import IMAGE_RUNTIME


def make(settings: Settings) -> DaytonaProvider:
    """Return the provider. Raises `ConfigError`, naming the setting, if it cannot work with these settings."""
    if not settings.daytona_api_key:
        raise ConfigError("DAYTONA_API_KEY must be set for the provider daytona.")
    return DaytonaProvider(
        Account(settings.daytona_api_key, settings.daytona_api_url, settings.daytona_target),
        callback_url=settings.callback_url,
        source=Source(
            settings.sandbox_snapshot or None,
            settings.sandbox_image or None,
            user=settings.daytona_user,
            package_index=settings.package_index,
        ),
        runtime=Runtime(
            settings.daytona_python or IMAGE_RUNTIME.python, settings.daytona_source or IMAGE_RUNTIME.source
        ),
        open_network=settings.daytona_open_network,
    )
